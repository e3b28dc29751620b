"""The rules of the language, one module per family: each is a pure function from a topology to diagnostics."""
