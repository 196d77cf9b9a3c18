<?php
// Answers with everything that a PHP application reads from a request, as a JSON array of texts.

function leaves($value, array &$seen): void {
    if (is_array($value)) {
        foreach ($value as $name => $item) {
            $seen[] = (string) $name;
            leaves($item, $seen);
        }
    } else {
        $seen[] = is_bool($value) ? ($value ? 'true' : 'false') : (string) $value;
    }
}

ini_set('display_errors', '0');
$seen = [rawurldecode(explode('?', $_SERVER['REQUEST_URI'])[0])];
leaves([$_GET, $_POST, $_COOKIE], $seen);
array_walk_recursive($_FILES, function ($value, $name) use (&$seen) {
    $seen[] = (string) $name;
    $seen[] = (string) $value;
    if ($name === 'tmp_name' && is_string($value) && $value !== '') {
        $seen[] = (string) file_get_contents($value);
    }
});
foreach (getallheaders() as $name => $value) {
    if ($name !== 'Cookie') {
        $seen[] = $value;
    }
}
$type = strtolower($_SERVER['CONTENT_TYPE'] ?? '');
if (str_contains($type, 'json')) {
    leaves(json_decode(file_get_contents('php://input'), true), $seen);
}
if (str_contains($type, 'xml')) {
    $document = @simplexml_load_string(file_get_contents('php://input'), 'SimpleXMLElement', LIBXML_NOENT);
    foreach ($document ? $document->xpath('//*|//@*') : [] as $node) {
        $seen[] = (string) $node;
    }
}
header('Content-Type: application/json');
echo json_encode($seen, JSON_INVALID_UTF8_SUBSTITUTE);
