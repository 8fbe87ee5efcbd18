"""Small tables read as JSON."""
