"""The parts of pages that come from the code: the command line's help, the ways of stopping.

``command-line`` has one section a command, with the help that the terminal prints; ``remedies``
lists the statuses of a certificate with what to do about each.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx


def command_help() -> dict[str, str]:
    """The help of ``separatrix`` and of each of its commands, by how it is called.

    The help has 80 columns and no colours, whatever the terminal of the build.
    """
    import click

    from separatrix.cli.app import cli

    def help_of(command: click.Command, name: str, parent: click.Context | None) -> str:
        settings = {**command.context_settings, "terminal_width": 80, "max_content_width": 80}
        with click.Context(command, info_name=name, parent=parent, **settings) as context:
            return click.unstyle(command.get_help(context))

    top = click.Context(cli, info_name="separatrix")
    found = {"separatrix": help_of(cli, "separatrix", None)}
    for name in cli.list_commands(top):
        command = cli.get_command(top, name)
        assert command is not None
        found[f"separatrix {name}"] = help_of(command, name, top)
    return found


def remedies() -> dict[str, str]:
    """The meaning of each status, as a sentence."""
    from separatrix.certificate import REMEDIES

    meaning = {
        # The pages name the parameter, as its value is the reader's own.
        status: text.replace("tol={tol:g}", "tol")
        for status, text in REMEDIES.items()
    }
    meaning["optimal"] = "the gap is at most tol, and that is proved; nothing to do"
    return {status: f"{text[0].upper()}{text[1:]}." for status, text in meaning.items()}


class CommandLine(Directive):
    """One section a command."""

    def run(self) -> list[nodes.Node]:
        made: list[nodes.Node] = []
        for name, text in command_help().items():
            block = nodes.literal_block(text, text, language="text")
            if name == "separatrix":
                made.append(block)
                continue
            section = nodes.section(ids=[nodes.make_id(name)], names=[name])
            section += nodes.title(name, name)
            section += block
            self.state.document.note_implicit_target(section)
            made.append(section)
        return made


class Remedies(Directive):
    """One definition a status."""

    def run(self) -> list[nodes.Node]:
        listed = nodes.definition_list(classes=["statuses"])
        for status, text in remedies().items():
            item = nodes.definition_list_item()
            item += nodes.term("", "", nodes.literal(status, status))
            item += nodes.definition("", nodes.paragraph(text, text))
            listed += item
        return [listed]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("command-line", CommandLine)
    app.add_directive("remedies", Remedies)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
