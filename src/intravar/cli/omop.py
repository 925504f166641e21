"""x"""
def register(app): pass
