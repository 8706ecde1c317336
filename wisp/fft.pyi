# Made by tools/gen_stubs.py from the operator table: do not edit.

