"""placeholder"""
def render_page(outputs, pairs):
    return ""
