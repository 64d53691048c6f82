// Sends what Node programs ask of the network through the proxy of Mnemon that MNEMON_PROXY names.
//
// Node before 24 knows no proxy, and libraries that make their own connections never do. So connections are made here, each
// through a CONNECT of its own, at the places where all clients get theirs:
//
// - `http` and `https`: every agent, and the `createConnection` that `ws` passes instead of one;
// - `http2.connect`;
// - `fetch`, `WebSocket` and the package `undici`: the global dispatcher, made anew with a `connect` of ours. It is touched
//   when it is first needed, since loading it takes a program that never fetches noticeable time.
//
// Sockets with a path, connections to the proxy itself, and dispatchers of another kind are left alone. Without MNEMON_PROXY
// everything is as it would be without this file.
'use strict';

const installed = Symbol.for('mnemon.preload');
if (!globalThis[installed]) {
  Object.defineProperty(globalThis, installed, { value: true });
  install();
}

function install() {
  const fs = require('node:fs');
  const http = require('node:http');
  const https = require('node:https');
  const http2 = require('node:http2');
  const net = require('node:net');
  const tls = require('node:tls');
  const { Duplex } = require('node:stream');
  const Module = require('node:module');

  // Node reads this variable once, at its start. Where it came later, certificates are named for each connection.
  const startedWith = process.env.NODE_EXTRA_CA_CERTS;
  const connect = http.request;

  function bare(host) {
    return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
  }

  // Where the proxy is; undefined if there is none.
  function proxy() {
    const place = process.env.MNEMON_PROXY;
    if (!place) return undefined;
    const colon = place.lastIndexOf(':');
    return { host: bare(place.slice(0, colon)), port: Number(place.slice(colon + 1)) };
  }

  // Calls back with a socket that leads to a host, through the proxy if there is one.
  function tunnel(host, port, done) {
    const through = proxy();
    if (!through) {
      const socket = net.connect({ host, port });
      socket.once('error', done);
      socket.once('connect', () => { socket.removeListener('error', done); done(null, socket); });
      return;
    }
    const authority = `${net.isIPv6(host) ? `[${host}]` : host}:${port}`;
    const refused = (response) =>
      done(new Error(`the proxy of Mnemon refused the connection to ${authority}: status ${response.statusCode}`));
    const request = connect({
      ...through, method: 'CONNECT', path: authority, headers: { host: authority },
      createConnection: () => net.connect({ ...through, noDelay: true }),
    });
    request.once('connect', (response, socket, head) => {
      if (response.statusCode !== 200) {
        socket.destroy();
        return refused(response);
      }
      if (head.length > 0) socket.unshift(head);
      return done(null, socket);
    });
    request.once('response', (response) => { response.resume(); refused(response); });
    request.once('error', done);
    request.end();
  }

  let known = {};

  // The certificates to trust, for a connection whose program names some or none.
  function trusted(ca) {
    const file = process.env.MNEMON_CA;
    if (!file || (ca === undefined && file === startedWith)) return ca === undefined ? {} : { ca };
    if (known.file !== file) {
      const ours = fs.readFileSync(file);
      known = { file, ours, context: tls.createSecureContext({ ca: [...tls.rootCertificates, ours] }) };
    }
    return ca === undefined ? { secureContext: known.context } : { ca: [].concat(ca, known.ours) };
  }

  function destination(options, secure) {
    const host = bare(String(options.hostname || options.host || 'localhost'));
    const port = Number(options.port || options.defaultPort || (secure ? 443 : 80));
    return { host, port };
  }

  function isLeftAlone(options, { host, port }) {
    const through = proxy();
    return !through || Boolean(options.socketPath || options.socket) || (host === through.host && port === through.port);
  }

  function secured(options, host, socket) {
    const servername = options.servername ?? (net.isIP(host) ? '' : host);
    return { ...options, host, servername, ...trusted(options.ca), path: undefined, socket };
  }

  // `createConnection` of an agent.
  function ofAgent(original, secure) {
    return function createConnection(options, callback) {
      const to = typeof options === 'object' && options !== null ? destination(options, secure) : undefined;
      if (to === undefined || typeof callback !== 'function' || isLeftAlone(options, to)) {
        return original.apply(this, arguments);
      }
      tunnel(to.host, to.port, (error, socket) => {
        if (error) return callback(error);
        if (options.timeout) socket.setTimeout(options.timeout);
        return callback(null, secure ? original.call(this, secured(options, to.host, socket)) : socket);
      });
      return undefined;
    };
  }

  http.Agent.prototype.createConnection = ofAgent(http.Agent.prototype.createConnection, false);
  https.Agent.prototype.createConnection = ofAgent(https.Agent.prototype.createConnection, true);

  // A `createConnection` that is passed instead of an agent.
  function ofRequest(secure) {
    return function createConnection(options, callback) {
      const { host, port } = destination(options, secure);
      tunnel(host, port, (error, socket) => {
        if (error) return callback(error);
        if (options.timeout) socket.setTimeout(options.timeout);
        return callback(null, secure ? tls.connect(secured(options, host, socket)) : socket);
      });
      return undefined;
    };
  }

  function wrapped(original, secure) {
    return function request(...words) {
      const at = typeof words[0] === 'string' || words[0] instanceof URL ? 1 : 0;
      const options = words[at];
      const is = typeof options === 'object' && options !== null && typeof options.createConnection === 'function';
      if (is && !options.agent) {
        const url = at === 1 ? new URL(words[0]) : {};
        const hostname = options.hostname || options.host || url.hostname;
        const to = destination({ hostname, port: options.port || url.port }, secure);
        if (!isLeftAlone(options, to)) words[at] = { ...options, createConnection: ofRequest(secure) };
      }
      return original.apply(this, words);
    };
  }

  for (const [module, secure] of [[http, false], [https, true]]) {
    module.request = wrapped(module.request, secure);
    module.get = wrapped(module.get, secure);
  }

  // A stream that can be had at once, while its tunnel is being made.
  class Pending extends Duplex {
    constructor(host, port) {
      super();
      this.opened = new Promise((resolve, reject) => {
        tunnel(host, port, (error, socket) => (error ? reject(error) : resolve(socket)));
      });
      this.opened.then((socket) => {
        this.socket = socket;
        socket.on('data', (bytes) => { if (!this.push(bytes)) socket.pause(); });
        socket.on('end', () => this.push(null));
        socket.on('error', (error) => this.destroy(error));
        socket.on('close', () => this.destroy());
      }, (error) => this.destroy(error));
    }

    _read() {
      this.socket?.resume();
    }

    _write(bytes, encoding, done) {
      this.opened.then((socket) => socket.write(bytes, encoding, done), done);
    }

    _final(done) {
      this.opened.then((socket) => socket.end(done), done);
    }

    _destroy(error, done) {
      this.opened.then((socket) => socket.destroy(), () => {});
      done(error);
    }
  }

  const connect2 = http2.connect;
  http2.connect = function (authority, options, listener) {
    if (typeof options === 'function') [options, listener] = [undefined, options];
    const url = typeof authority === 'string' ? new URL(authority) : authority;
    const secure = (url.protocol || options?.protocol || 'https:') === 'https:';
    const to = destination({ hostname: url.hostname || url.host, port: url.port }, secure);
    if (options?.createConnection || isLeftAlone(options ?? {}, to)) {
      return connect2.call(this, authority, options, listener);
    }
    const createConnection = () => {
      const stream = new Pending(to.host, to.port);
      return secure ? tls.connect({ ALPNProtocols: ['h2'], ...secured(options ?? {}, to.host, stream) }) : stream;
    };
    return connect2.call(this, authority, { ...options, createConnection }, listener);
  };

  // `connect` of a dispatcher.
  function ofDispatcher(options, callback) {
    const secure = options.protocol === 'https:';
    const { host, port } = destination(options, secure);
    tunnel(host, port, (error, socket) => {
      if (error) return callback(error, null);
      socket.setNoDelay(true);
      if (!secure) return callback(null, socket);
      const servername = options.servername || undefined;
      const stream = tls.connect(secured({ servername, ALPNProtocols: ['http/1.1'] }, host, socket));
      stream.once('secureConnect', () => { stream.removeListener('error', callback); callback(null, stream); });
      stream.once('error', callback);
      return undefined;
    });
  }

  const dispatcher = Symbol.for('undici.globalDispatcher.1');
  let ours;
  let madeFor;

  function direct() {
    if (!proxy()) return;
    // Node makes its dispatcher when it loads what belongs to `fetch`.
    if (globalThis[dispatcher] === undefined) void globalThis.Response;
    const current = globalThis[dispatcher];
    // Connections that are kept lead to the proxy that they were made through.
    const isRight = current === ours && madeFor === process.env.MNEMON_PROXY;
    if (current && !isRight && current.constructor.name === 'Agent') {
      ours = new current.constructor({ connect: ofDispatcher });
      madeFor = process.env.MNEMON_PROXY;
      globalThis[dispatcher] = ours;
    }
  }

  const fetch = globalThis.fetch;
  if (typeof fetch === 'function') {
    globalThis.fetch = function (...words) {
      direct();
      return fetch.apply(this, words);
    };
    Object.defineProperties(globalThis.fetch, { name: { value: 'fetch' }, length: { value: fetch.length } });
  }

  for (const name of ['WebSocket', 'EventSource']) {
    const property = Object.getOwnPropertyDescriptor(globalThis, name);
    if (!property?.get || !property.configurable) continue;
    Object.defineProperty(globalThis, name, { ...property, get() { direct(); return property.get.call(this); } });
  }

  const load = Module._load;
  Module._load = function (name, ...rest) {
    if (name === 'undici') direct();
    return load.call(this, name, ...rest);
  };

  // Names that are imported from these modules are what they are now.
  Module.syncBuiltinESMExports();
}
