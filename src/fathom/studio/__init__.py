"""The studio: people and models make long-context samples together."""
