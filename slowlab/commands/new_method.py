"""``slowlab new-method``: a method that works, to be changed, and its line in a study file."""

from __future__ import annotations

import keyword
import re
from pathlib import Path
from typing import Annotated

import typer

from slowlab.commands.errors import InputError, report_user_errors

_KEY = "methods"
_ITEM = re.compile(r"^(?P<indent>\s*)- ")

TEMPLATE = '''"""{title}: say in one line what this method does."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from slowlab.config import ConfigModel
from slowlab.methods._base import Campaign, Method, Steps
from slowlab.methods._design import box_around, whole_box
from slowlab.methods._registry import register
from slowlab.methods._waves import best_seen, random_policies, two_waves


class {class_name}Settings(ConfigModel):
    """Settings that a study file may give under ``settings:``."""

    radius: float = Field(
        default=0.2, gt=0, le=1, description="Half-width of the second wave's box, in ranges."
    )


@register("{name}")
class {class_name}(Method):
    """Plant random policies, then policies around the best of them; recommend the best crop."""

    Settings = {class_name}Settings
    settings: {class_name}Settings

    def play(self, campaign: Campaign, rng: np.random.Generator) -> Steps:
        """Everything comes from the public task; ``rng`` is the only source of chance.

        A method yields actions, such as ``{{"action": "advance", "day": 182}}``, and tool calls,
        and receives the reply to each. ``two_waves`` does that for methods that plant twice: on
        day 0, and as soon as the compartments are clean again.
        """
        size, bounds = len(campaign.units), campaign.bounds
        first = random_policies(size, whole_box(), bounds, rng)

        def second(crops):
            """The second wave, from the completed crops of the first."""
            best = best_seen(crops, otherwise=first[0])
            box = box_around(best, self.settings.radius, bounds)
            return random_policies(size, box, bounds, rng)

        def choose(crops):
            """The recommendation, from all completed crops."""
            return best_seen(crops, otherwise=first[0])

        yield from two_waves(campaign, first, second, choose)
'''


def new_method(
    name: Annotated[str, typer.Argument(help="Small letters, digits and underscores.")],
    study: Annotated[Path, typer.Option("--study", help="Study file that is to run it.")] = Path(
        "config/config.yaml"
    ),
    folder: Annotated[
        Path | None,
        typer.Option("--folder", help="Folder of the new file; by default that of all methods."),
    ] = None,
) -> None:
    """Write a new method that works, and add it to a study.

    Then change the file, and try it with ``slowlab try-method NAME``.
    """
    with report_user_errors():
        target = _target(name, folder)
        changed = with_method(study.read_text(encoding="utf-8"), name, str(study))
        from slowlab.io import atomic_write_text

        atomic_write_text(target, method_source(name))
        atomic_write_text(study, changed)
    typer.echo(f"Wrote {target}")
    typer.echo(f"Added {name} to {study}")
    path = "" if folder is None else f"SLOWLAB_METHODS_PATH={folder} "
    typer.echo(f"Try it: {path}slowlab try-method {name}")
    if folder is not None:
        typer.echo(f"For studies, add the folder to method_folders in {study}")


def method_source(name: str) -> str:
    """The text of a new method."""
    words = name.split("_")
    class_name = "".join(word.capitalize() for word in words)
    title = " ".join(words).capitalize()
    return TEMPLATE.format(name=name, class_name=class_name, title=title)


def with_method(text: str, name: str, source: str) -> str:
    """A study file with one more method; every other line stays as it is.

    Args:
        text: the file.
        name: the method.
        source: name of the file, for messages.

    Raises:
        InputError: it has no list of methods with one method a line, or lists this one already.
        YamlError: it is not acceptable YAML.
    """
    from slowlab.strict_yaml import parse_yaml

    before = parse_yaml(text).data
    listed = before.get(_KEY) if isinstance(before, dict) else None
    if not isinstance(listed, list):
        raise InputError(f"{source}: has no list of methods under {_KEY}:")
    if name in [item.get("name") if isinstance(item, dict) else item for item in listed]:
        raise InputError(f"{source}: lists a method {name} already")
    lines = text.splitlines(keepends=True)
    place, indent = _end_of_list(lines, source)
    if not lines[place - 1].endswith("\n"):
        lines[place - 1] += "\n"
    lines.insert(place, f"{indent}- {name}\n")
    changed = "".join(lines)
    if parse_yaml(changed).data != before | {_KEY: [*listed, name]}:
        raise InputError(f"{source}: add `- {name}` under {_KEY}: by hand; its form is unusual")
    return changed


def _end_of_list(lines: list[str], source: str) -> tuple[int, str]:
    """Number of the line after the last method, and how its items are indented."""
    starts = [n for n, line in enumerate(lines) if re.match(rf"{_KEY}:\s*(#.*)?$", line)]
    if len(starts) != 1:
        raise InputError(f"{source}: write {_KEY}: on a line of its own and one method a line")
    end, indent = starts[0] + 1, None
    for number in range(starts[0] + 1, len(lines)):
        line = lines[number]
        found = _ITEM.match(line)
        if indent is None and found is not None:
            indent = found["indent"]
        inside = line.startswith((" ", "- ")) and line.strip()
        if line.strip() and not inside and not line.startswith("#"):
            break
        if inside and not line.strip().startswith("#"):
            end = number + 1
    if indent is None:
        raise InputError(f"{source}: {_KEY}: has no method on a line of its own")
    return end, indent


def _target(name: str, folder: Path | None) -> Path:
    """The new file.

    Raises:
        InputError: a bad name, a file that exists, or a method of that name.
    """
    from slowlab.methods import _registry

    if re.fullmatch(_registry.NAME_PATTERN, name) is None or keyword.iskeyword(name):
        raise InputError(
            f"{name!r}: a name begins with a small letter and has small letters, digits and "
            "underscores, at most 48"
        )
    target = (folder or Path(_registry.__file__).parent) / f"{name}.py"
    if target.exists():
        raise InputError(f"{target}: exists already")
    if name in _registry.registered():
        raise InputError(f"{name!r}: there is a method of that name already")
    return target
