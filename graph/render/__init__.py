"""Renderers: each turns outcomes into one document. No decision about a topology lives here."""
