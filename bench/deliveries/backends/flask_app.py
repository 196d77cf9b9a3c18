"""Answers with everything that a Flask application reads from a request, as a JSON array of texts."""

import sys
from xml.etree import ElementTree

from flask import Flask, jsonify, request

app = Flask(__name__)


def leaves(value):
    if isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item)
    else:
        yield str(value)


def xml(body):
    try:
        for element in ElementTree.fromstring(body).iter():
            yield "".join(element.itertext())
            yield from element.attrib.values()
    except ElementTree.ParseError:
        return


@app.route("/", defaults={"path": ""}, methods=[*"GET POST PUT PATCH DELETE OPTIONS PROPFIND".split()])
@app.route("/<path:path>", methods=[*"GET POST PUT PATCH DELETE OPTIONS PROPFIND".split()])
def read(path):
    seen = [path]
    for fields in (request.args, request.form):
        for name, values in fields.lists():
            seen += [name, *values]
    for name, file in request.files.items(multi=True):
        seen += [name, file.filename or "", file.read().decode("utf-8", "replace")]
    for name, value in request.cookies.items():
        seen += [name, value]
    seen += [value for name, value in request.headers.items() if name != "Cookie"]
    seen += leaves(request.get_json(silent=True))
    if "xml" in (request.mimetype or ""):
        seen += xml(request.get_data())
    return jsonify(seen)


if __name__ == "__main__":
    import logging

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    app.run(port=int(sys.argv[1]), threaded=True)
