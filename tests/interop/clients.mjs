// Requests signed by libraries for Node: prints one JSON object for each, which interop.py sends.

import { constants, createHash, createPrivateKey, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { importPKCS8, SignJWT } from "jose";

const require = createRequire(import.meta.url);
const { httpbis, createSigner } = require("http-message-signatures");
const jsonwebtoken = require("jsonwebtoken");

const [, , base, keys] = process.argv;
const secret = readFileSync(`${keys}/secret`, "utf8");
const pem = (name) => readFileSync(`${keys}/${name}.pem`, "utf8");
const body = '{"order": 7, "note": "Grüße"}';
const print = (client, path, headers, changes) =>
  console.log(JSON.stringify({ client, method: "POST", url: `${base}${path}`, headers, body, changes }));

const digest = `sha-256=:${createHash("sha256").update(body).digest("base64")}:`;
for (const [name, alg] of [
  ["hmac", "hmac-sha256"],
  ["ed25519", "ed25519"],
  ["p256", "ecdsa-p256-sha256"],
  ["rsa", "rsa-v1_5-sha256"],
  ["pss", "rsa-pss-sha512"],
]) {
  const key = createSigner(name === "hmac" ? secret : createPrivateKey(pem(name)), alg, name);
  if (name === "pss") {
    // The library leaves the length of the salt to OpenSSL, which takes the longest; RFC 9421, 3.3.1, demands 64 bytes.
    const options = { key: pem(name), padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 64 };
    key.sign = async (data) => sign("sha512", data, options);
  }
  const url = `${base}/message?a=b%20c&d`;
  const fields = ["@method", "@target-uri", "content-digest", "content-type"];
  const request = { method: "POST", url, headers: { "content-type": "application/json", "content-digest": digest } };
  const signed = await httpbis.signMessage({ key, fields }, request);
  print(`npm http-message-signatures ${alg}`, "/message?a=b%20c&d", signed.headers, ["body", "target"]);
}

const bearer = (token) => ({ authorization: `Bearer ${token}` });
const claims = { sub: "partner", scope: "orders" };
for (const [kid, alg] of [["t-hmac", "HS256"], ["t-ed25519", "EdDSA"], ["t-p256", "ES256"], ["t-rsa", "RS256"], ["t-pss", "PS512"]]) {
  const name = kid.slice(2);
  const key = name === "hmac" ? new TextEncoder().encode(secret) : await importPKCS8(pem(name), alg);
  const token = await new SignJWT(claims).setProtectedHeader({ alg, kid }).setIssuedAt().setExpirationTime("2m").sign(key);
  print(`npm jose ${alg}`, "/token", bearer(token), ["token"]);
}
for (const [kid, algorithm] of [["t-hmac", "HS256"], ["t-p256", "ES256"], ["t-rsa", "RS256"], ["t-pss", "PS512"]]) {
  const key = kid === "t-hmac" ? secret : pem(kid.slice(2));
  const token = jsonwebtoken.sign(claims, key, { algorithm, keyid: kid, expiresIn: 120 });
  print(`npm jsonwebtoken ${algorithm}`, "/token", bearer(token), ["token"]);
}
