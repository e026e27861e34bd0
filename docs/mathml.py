"""Formulas of the site as MathML: browsers draw them without a script and without the network."""

from docutils import nodes
from latex2mathml.converter import convert


def visit_inline(writer, node):
    """Write a formula within a line.

    Parameters
    ----------
    writer : sphinx.writers.html5.HTML5Translator
    node : docutils.nodes.math

    Raises
    ------
    docutils.nodes.SkipNode
        Always: the node has no children to be visited.
    """
    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def visit_block(writer, node):
    """Write a formula on a line of its own, with its number if it has one.

    Parameters
    ----------
    writer : sphinx.writers.html5.HTML5Translator
    node : docutils.nodes.math_block

    Raises
    ------
    docutils.nodes.SkipNode
        Always: the node has no children to be visited.
    """
    writer.body.append(writer.starttag(node, "div", CLASS="math"))
    writer.body.append(convert(node.astext(), display="block"))
    writer.body.append("</div>")
    raise nodes.SkipNode
