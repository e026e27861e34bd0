"""Exchange of shared points between ranks; no physics."""
