"""`fieldgate fetch`, `import` and `share`: the same commands as those of `fieldgate-client`."""

import click


class ClientCommand(click.Command):
    """Passes all arguments on, also `--help`, as the client library has its own parser."""

    def __init__(self, name: str, summary: str) -> None:
        super().__init__(name, help=summary, add_help_option=False)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.args = args
        return []

    def invoke(self, ctx: click.Context) -> None:
        from fieldgate_client.cli import main  # other commands do not need it

        ctx.exit(main([str(self.name), *ctx.args], prog="fieldgate"))


fetch = ClientCommand("fetch", "Read a complete list of a server into a file.")
import_forms = ClientCommand("import", "Import forms on a server, and show their problems.")
share = ClientCommand("share", "Assign permissions on a server, or remove them.")
