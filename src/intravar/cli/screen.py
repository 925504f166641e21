"""What commands print with."""

from rich.console import Console as Console
from rich.markup import escape as escape
from rich.table import Table as Table
from rich.text import Text as Text
