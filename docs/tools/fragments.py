"""Two directives: a generated table that may not exist yet, and a picture of the data flow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive


class Generated(Directive):
    """Include a file that another program writes, or say which command writes it.

    `{generated} _generated/ablation.md` with the command as its content.
    """

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Parse the file as part of the page."""
        environment = self.state.document.settings.env
        name = self.arguments[0]
        path = Path(environment.srcdir) / name
        environment.note_dependency(name)
        container = nodes.container(classes=["generated"])
        if path.exists():
            lines = path.read_text(encoding="utf-8").splitlines()
        else:
            lines = [f"*Not measured yet: `{' '.join(self.content)}` writes this table.*"]
        self.state.nested_parse(_strings(lines, str(path)), 0, container)
        return [container]


def _strings(lines: list[str], source: str) -> Any:
    from docutils.statemachine import StringList

    return StringList(lines, source)


class Svg(Directive):
    """Put an SVG into the page itself, so that it follows the page's colours."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the file's text as HTML."""
        environment = self.state.document.settings.env
        path = Path(environment.srcdir) / self.arguments[0]
        environment.note_dependency(self.arguments[0])
        picture = path.read_text(encoding="utf-8")
        # On a narrow screen it keeps its size and scrolls, also by keyboard.
        label = 'role="region" aria-label="picture" tabindex="0"'
        return [nodes.raw("", f'<div class="wide" {label}>{picture}</div>', format="html")]


def setup(app: Any) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("generated", Generated)
    app.add_directive("inline-svg", Svg)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
