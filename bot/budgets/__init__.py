"""Budgets and limits: amounts, ceilings, and what people read about them. Pure."""
