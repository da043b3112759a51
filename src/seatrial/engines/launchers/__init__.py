"""Programs that run as processes of their own: the keeper, and servers that wheels do not bring.

They import the standard library and, where the engine is a library, that library; nothing of
seatrial. They talk through stdin, stdout and the log.
"""
