# mypy: disable-error-code="import-not-found, misc"
"""Reading the catalogue: a list in pages, and one permission by its codename."""

import hashlib
from typing import Any

from django.http import Http404
from django.utils.decorators import method_decorator
from django.utils.translation import get_language
from django.views.decorators.http import etag
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from benchmarks.peer.catalogue import PERMISSIONS
from benchmarks.peer.serializers import PermissionSerializer


def validator(request: Request, **_: Any) -> str:
    """The catalogue changes with a release only: what is asked, and in which language, tells the answer."""
    asked = f"{get_language()} {request.build_absolute_uri()} {request.headers.get('Accept', '')}"
    return f'"{hashlib.md5(asked.encode(), usedforsecurity=False).hexdigest()}"'


# Told before anything is serialized: the framework's middleware would make the whole answer first to take its digest.
@method_decorator(etag(validator), name="list")
class PermissionViewSet(GenericViewSet):
    queryset = ()  # browsable pages ask for it
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
