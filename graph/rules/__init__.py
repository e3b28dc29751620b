"""The rules of the language, a module a family: pure functions from a topology to diagnostics."""
