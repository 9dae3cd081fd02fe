"""Modals and the App Home: each file builds one view, opens it, and handles what is done in it."""
