# mypy: disable-error-code="import-not-found, misc"
"""Reading the catalogue: a list in pages, and one permission by its codename."""

from django.http import Http404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from benchmarks.peer.catalogue import PERMISSIONS
from benchmarks.peer.serializers import PermissionSerializer


class PermissionViewSet(GenericViewSet):
    serializer_class = PermissionSerializer
    lookup_field = "codename"

    def list(self, _request: Request) -> Response:
        page = self.paginate_queryset(list(PERMISSIONS.values()))
        return self.get_paginated_response(self.get_serializer(page, many=True).data)

    def retrieve(self, _request: Request, codename: str) -> Response:
        try:
            permission = PERMISSIONS[codename]
        except KeyError as unknown:
            raise Http404 from unknown
        return Response(self.get_serializer(permission).data)
