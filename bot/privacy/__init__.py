"""Personal data of the app: where it is kept, and which parts of requests must not be sent."""
