"""Definition strings to the expression graph.

GreenLight's expressions are valid Python expressions (``+ - * / **``, comparisons, calls), so
Python's own parser reads them. User functions of the definition files are expanded on the
graph; three of them (``min``, ``max``, ``ifElse``) are written there as arithmetic on truth
values and become the graph's own operations of the same meaning.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from slowlab.greenlight.definition import DefinitionError, ModelDefinition
from slowlab.greenlight.expression import Graph, arity

# name -> (definition text that is expected, graph operation)
_RECOGNISED = {
    "ifElse": ("condition*ifTrue + (1-condition)*ifFalse", "select"),
    "min": ("(a<b)*a + (b<=a)*b", "min"),
    "max": ("(a>b)*a + (b>=a)*b", "max"),
}
_BUILTIN = {
    "exp": "exp",
    "log": "log",
    "sqrt": "sqrt",
    "abs": "abs",
    "cos": "cos",
    "mod": "mod",
    "logical_and": "and",
    "logical_or": "or",
}
_BINARY: dict[type, str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.Pow: "pow",
}
_COMPARE: dict[type, str] = {
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
}

Override = Callable[[Graph, int], int]


@dataclass
class Expander:
    """Resolves names of a model to graph ids.

    Attributes:
        definition: the merged model.
        graph: where nodes are made.
        free: names that stay symbols (states, inputs, run-time parameters).
        values: names whose definition is replaced by a number.
        overrides: name -> function of (graph, native id) giving the id used instead.
    """

    definition: ModelDefinition
    graph: Graph
    free: frozenset[str]
    values: Mapping[str, float] = field(default_factory=dict)
    overrides: Mapping[str, Override] = field(default_factory=dict)
    _known: dict[str, int] = field(default_factory=dict)
    _open: set[str] = field(default_factory=set)
    _functions: dict[str, tuple[tuple[str, ...], str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for signature in self.definition.of_kind("function"):
            name, _, rest = signature.partition("(")
            arguments = tuple(a.strip() for a in rest.rstrip(") ").split(","))
            body = self.definition.variables[signature].definition
            expected = _RECOGNISED.get(name)
            if expected is not None and expected[0].replace(" ", "") != body.replace(" ", ""):
                raise DefinitionError(f"function {signature} is defined as {body!r}, unexpected")
            self._functions[name] = (arguments, body)

    def resolve(self, name: str) -> int:
        """Graph id of a named variable (of a state or input: its symbol).

        Raises:
            DefinitionError: unknown name or circular definition.
        """
        if name in self._known:
            return self._known[name]
        if name in self.free:
            result = self.graph.symbol(name)
        elif name in self.values:
            result = self.graph.const(self.values[name])
        else:
            result = self._expand(name)
        if name in self.overrides:
            result = self.overrides[name](self.graph, result)
        self._known[name] = result
        return result

    def derivative_of(self, state: str) -> int:
        """Graph id of a state's time derivative, per second.

        Raises:
            DefinitionError: the model has no such state.
        """
        if state not in self.definition.variables:
            raise DefinitionError(f"the model has no state {state!r}")
        return self.parse(self.definition.variables[state].definition)

    def parse(self, text: str, local: Mapping[str, int] | None = None) -> int:
        """Graph id of an expression; ``local`` binds function arguments."""
        try:
            tree = ast.parse(text.strip(), mode="eval").body
        except SyntaxError as error:
            raise DefinitionError(f"cannot parse {text!r}: {error.msg}") from error
        return self._visit(tree, local or {})

    def _expand(self, name: str) -> int:
        if name not in self.definition.variables:
            raise DefinitionError(f"the model has no variable {name!r}")
        if name in self._open:
            raise DefinitionError(f"circular definition of {name!r}")
        self._open.add(name)
        result = self.parse(self.definition.variables[name].definition)
        self._open.discard(name)
        return result

    def _visit(self, tree: ast.expr, local: Mapping[str, int]) -> int:
        match tree:
            case ast.Constant(value=int() | float() as number):
                return self.graph.const(number)
            case ast.Name(id=name):
                return local[name] if name in local else self.resolve(name)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.graph.make("neg", self._visit(operand, local))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                a, b = self._visit(left, local), self._visit(right, local)
                return self.graph.make(_BINARY[type(op)], a, b)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
                a, b = self._visit(left, local), self._visit(right, local)
                return self.graph.make(_COMPARE[type(op)], a, b)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self._call(name, [self._visit(a, local) for a in arguments])
        raise DefinitionError(f"unsupported syntax in {ast.unparse(tree)!r}")

    def _call(self, name: str, arguments: list[int]) -> int:
        if name in _RECOGNISED or name in _BUILTIN:
            op = _BUILTIN[name] if name in _BUILTIN else _RECOGNISED[name][1]
            _check_count(name, arity(op), arguments)
            return self.graph.make(op, *arguments)
        if name not in self._functions:
            raise DefinitionError(f"the model has no function {name!r}")
        parameters, body = self._functions[name]
        _check_count(name, len(parameters), arguments)
        return self.parse(body, dict(zip(parameters, arguments, strict=True)))


def _check_count(name: str, expected: int, arguments: list[int]) -> None:
    if len(arguments) != expected:
        raise DefinitionError(f"{name} takes {expected} arguments, not {len(arguments)}")
