"""The firewall: what every prompt is checked for before it is sent.

1. **form**: a message has a role and a content and nothing else.
2. **keys**: data in a prompt holds only names that are public (:mod:`slowlab.agents.public_names`).
3. **names**: no name of the benchmark, the simulator, the weather source or a paper, no address, no
   private path, no word about seeds, simulation or hidden truth, and no name of a hidden value. The
   model's own earlier words are exempt: they are whatever it likes.
4. **numbers**: no hidden value, in whatever form it is printed. Numbers that differ from campaign
   to campaign (readings, results, the model's own policies) may agree with one in a few digits by
   chance, so they and the model's words are judged by nine digits or more, everything else by five.

A hit means that the harness leaks. It ends the campaign as a technical failure and is never made
into a result.

Source: SlowLab, harness, firewall. Keys and numbers are ours.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from slowlab.agents.hidden_numbers import Hidden, HiddenValues
from slowlab.agents.messages import Message, ModelCall, Role
from slowlab.agents.public_names import measured_keys, public_keys, schema_keys
from slowlab.canonical import StrictJsonError, canonical_json, loads_strict

FORBIDDEN_PATTERNS = MappingProxyType(
    {
        "name of the benchmark": r"slow[ _-]?lab|benchmark",
        "name of the simulator": r"green[ _-]?light|gymnasium|\bjax\b|energy ?plus|modelica",
        "name of a model's author": r"vanthoor|katzin|wageningen",
        "name of a challenge": r"greenhouse[ _-]challenge",
        "name of a weather source": r"\bknmi\b|cabauw|\bera ?5\b|meteonorm|\bpvgis\b|nasa|\bcds\b",
        "weather year": r"weather[ _-]?years?\b",
        "name of a set of sites": r"partition|(?:development|pilot|test|held[ _-]out)[ _-]sites?\b",
        "simulation": r"simulat|synthetic",
        "hidden truth": r"ground[ _-]?truth|oracle|latent|\bhidden\b|\bsecret\b",
        "seed": r"(?<![a-z])seed(?:s|ed)?(?![a-z])|\brng\b",
        "paper": r"\bdoi\b|\b10\.\d{4,9}/|arxiv|preprint",
        "address": r"https?:|\bwww\.|git@|\bgit(?:hub|lab)|bitbucket|codeberg|hugging ?face",
        "private path": r"(?<![\w.])/(?:home|root|tmp|var|usr|mnt|opt|data|srv|work|users)/"
        r"|\b[a-z]:\\|\.(?:py|ya?ml|jsonl|npz|parquet|csv)\b",
    }
)
"""What no prompt may say, by what it is; regular expressions for any mixture of capitals."""

_QUOTED_KEY = re.compile(r'"([^"\\\n]{1,200})"\s*:')
_IDENTIFIER = re.compile(r"[A-Za-z0-9]*(?:_|[a-z][A-Z]|[a-z]\d)\w*")
_SHORTEST_IDENTIFIER = 6


class Rule(StrEnum):
    """The rules; see the module."""

    FORM = "form"
    KEYS = "keys"
    NAMES = "names"
    NUMBERS = "numbers"


class FirewallError(RuntimeError):
    """A prompt that must not be sent; the message never shows what was found.

    Attributes:
        rule: the rule that was broken.
        place: message and key path.
    """

    def __init__(self, rule: Rule, place: str) -> None:
        super().__init__(f"the firewall stopped a prompt: {rule.value}, {place}")
        self.rule = rule
        self.place = place

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle through the constructor."""
        return type(self), (self.rule, self.place)


class Firewall:
    """Checks prompts; see the module. A message that has passed once passes without being read.

    Args:
        hidden: names and values of what is hidden about the site.
        patterns: what no prompt may say, by what it is.
        keys: names that are public beside those of campaigns.
    """

    def __init__(
        self,
        hidden: Iterable[Hidden] = (),
        patterns: Mapping[str, str] = FORBIDDEN_PATTERNS,
        keys: Iterable[str] = (),
    ) -> None:
        hidden = list(hidden)
        further = frozenset(keys)
        self._values = HiddenValues(hidden)
        self._keys = public_keys() | further
        self._schema_keys = schema_keys() | further
        self._patterns = {what: re.compile(p, re.IGNORECASE) for what, p in patterns.items()}
        names = _identifiers(hidden) - self._keys
        if names:
            words = "|".join(map(re.escape, sorted(names)))
            self._patterns["name of a hidden value"] = re.compile(
                rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE
            )
        self._passed: set[bytes] = set()

    def check(self, messages: Iterable[Message]) -> None:
        """Check messages.

        Raises:
            FirewallError: a rule is broken.
        """
        for number, message in enumerate(messages):
            self._check_form(message, number)
            content = f"{message.role.value}\n{message.content}".encode("utf-8", "surrogatepass")
            name = hashlib.sha256(content).digest()
            if name not in self._passed:
                self._check_message(message, f"message {number} ({message.role.value})")
                self._passed.add(name)

    def check_call(self, call: ModelCall) -> None:
        """Check everything that a call sends.

        Raises:
            FirewallError: a rule is broken.
        """
        self.check(call.messages)
        schemas = [] if call.response_schema is None else [call.response_schema]
        for what, item in [("response schema", schemas), ("functions", list(call.functions))]:
            if item:
                self._check_names(canonical_json(item), what)
                self._check_data(item, what, self._schema_keys)

    def _check_form(self, message: Message, number: int) -> None:
        payload = message.payload()
        known = set(payload) == {"role", "content"} and isinstance(payload["content"], str)
        if not known or payload["role"] not in Role:
            raise FirewallError(Rule.FORM, f"message {number}")

    def _check_message(self, message: Message, where: str) -> None:
        if message.role is Role.ASSISTANT:
            if self._values.in_long_form(message.content):
                raise FirewallError(Rule.NUMBERS, where)
            return
        self._check_names(message.content, where)
        if message.role is Role.USER and message.content.lstrip().startswith(("{", "[")):
            self._check_data(_whole_json(message.content, where), where, self._keys)
            return
        for number, line in enumerate(message.content.splitlines(), 1):
            self._check_line(line, f"{where}, line {number}")

    def _check_line(self, line: str, where: str) -> None:
        """A line of text; a line that is JSON is judged as data."""
        if line.startswith(("{", "[")):
            try:
                self._check_data(loads_strict(line), where, self._keys)
                return
            except StrictJsonError:
                pass
        self._check_text(line, where, self._keys)

    def _check_names(self, text: str, where: str) -> None:
        for what, pattern in self._patterns.items():
            if pattern.search(text):
                raise FirewallError(Rule.NAMES, f"{where}: {what}")

    def _check_text(self, text: str, where: str, keys: frozenset[str]) -> None:
        if any(key not in keys for key in _QUOTED_KEY.findall(text)):
            raise FirewallError(Rule.KEYS, where)
        if self._values.in_text(text):
            raise FirewallError(Rule.NUMBERS, where)

    def _check_data(self, data: Any, where: str, keys: frozenset[str]) -> None:
        """Check keys, texts and numbers of plain data, at every depth."""
        for leaf in _leaves(data, where, None):
            if leaf.is_key:
                if leaf.value not in keys:
                    raise FirewallError(Rule.KEYS, leaf.place)
            elif isinstance(leaf.value, str):
                self._check_text(leaf.value, leaf.place, keys)
            elif self._is_hidden(leaf):
                raise FirewallError(Rule.NUMBERS, leaf.place)

    def _is_hidden(self, leaf: _Leaf) -> bool:
        written = repr(leaf.value)
        if leaf.key in measured_keys():
            return self._values.in_long_form(written)
        return self._values.in_text(written)


@dataclass(frozen=True)
class _Leaf:
    """A key, a text or a number in plain data, with the nearest key above it."""

    place: str
    key: str | None
    value: Any
    is_key: bool = False


def _leaves(data: Any, place: str, key: str | None) -> Iterator[_Leaf]:
    if isinstance(data, dict):
        for name, value in data.items():
            yield _Leaf(place, key, name, is_key=True)
            yield from _leaves(value, f"{place}.{name}", name)
    elif isinstance(data, list | tuple):
        for index, item in enumerate(data):
            yield from _leaves(item, f"{place}[{index}]", key)
    elif data is not None and not isinstance(data, bool):
        yield _Leaf(place, key, data)


def _whole_json(content: str, where: str) -> Any:
    try:
        return loads_strict(content)
    except StrictJsonError:
        raise FirewallError(Rule.FORM, f"{where}: data that cannot be read") from None


def _identifiers(hidden: Iterable[Hidden]) -> set[str]:
    """Last parts of the names of hidden values that are no plain words."""
    found = (re.split(r"[./]", name)[-1].partition("[")[0] for name, _ in hidden)
    return {n for n in found if len(n) >= _SHORTEST_IDENTIFIER and _IDENTIFIER.fullmatch(n)}
