// Sends what Node programs ask of the network through the proxy of Metroon that METROON_PROXY names.
//
// Node before 24 knows no proxy, and libraries that make their own connections never do. So connections are made here, each
// through a CONNECT of its own, at the places where all clients get theirs:
//
// - `http` and `https`: every agent, and the `createConnection` that `ws` passes instead of one;
// - `tls.connect`, if it offers HTTP by ALPN: `fetch`, `WebSocket`, every copy of `undici`, `http2`, `got`;
// - `net.connect`, if `undici` has said that it is about to connect, and `http2.connect`: the same without TLS.
//
// Other protocols, hosts that NO_PROXY excepts, sockets with a path, and connections to the proxy itself are left alone. Without
// METROON_PROXY everything is as it would be without this file.
'use strict';

const installed = Symbol.for('metroon.preload');
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
  const diagnostics = require('node:diagnostics_channel');
  const Module = require('node:module');

  // Node reads this variable once, at its start. Where it came later, certificates are named for each connection.
  const startedWith = process.env.NODE_EXTRA_CA_CERTS;
  const connect = http.request;

  function bare(host) {
    return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
  }

  // Where the proxy is; undefined if there is none.
  function proxy() {
    const place = process.env.METROON_PROXY;
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
      done(new Error(`the proxy of Metroon refused the connection to ${authority}: status ${response.statusCode}`));
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
    const file = process.env.METROON_CA;
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

  // Whether an entry of NO_PROXY is about a host: a name, which stands for those below it as well, with or without a port.
  function excepts(entry, host, port) {
    const [, name, , ofPort] = /^\*?\.?(\[.*\]|[^:]*|.*:.*:.*?)(:(\d+))?$/.exec(entry) ?? [];
    const isNamed = Boolean(name) && (host === bare(name) || host.endsWith(`.${name}`));
    return entry === '*' || (isNamed && (ofPort === undefined || Number(ofPort) === port));
  }

  // Metroon has set it.
  function isExcepted(host, port) {
    const entries = (process.env.NO_PROXY ?? '').toLowerCase().split(',');
    return entries.some((entry) => excepts(entry.trim(), host.toLowerCase(), port));
  }

  function isLeftAlone(options, { host, port }) {
    const through = proxy();
    const isDirect = !through || Boolean(options.socketPath || options.socket) || isExcepted(host, port);
    return isDirect || (host === through.host && port === through.port);
  }

  function secured(options, host, socket) {
    const servername = options.servername ?? (net.isIP(host) ? '' : host);
    return { ...options, host, servername, ...trusted(options.ca), path: undefined, socket };
  }

  // Connections that an agent keeps are used again only through the proxy that they were made through.
  const nameOf = http.Agent.prototype.getName;
  http.Agent.prototype.getName = function getName(...words) {
    const name = nameOf.apply(this, words);
    return process.env.METROON_PROXY ? `${name}:${process.env.METROON_PROXY}` : name;
  };

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

  // A stream that can be had at once, while its tunnel is being made, with what clients do to a socket.
  class Pending extends Duplex {
    constructor(host, port) {
      super({ allowHalfOpen: false });
      this.connecting = true;
      this.isHeld = true;
      this.opened = new Promise((resolve, reject) => {
        tunnel(host, port, (error, socket) => (error ? reject(error) : resolve(socket)));
      });
      this.opened.then((socket) => this.open(socket), (error) => this.destroy(error));
    }

    open(socket) {
      this.socket = socket;
      this.connecting = false;
      if (!this.isHeld) socket.unref();
      socket.on('data', (bytes) => { if (!this.push(bytes)) socket.pause(); });
      socket.on('end', () => this.push(null));
      socket.on('error', (error) => this.destroy(error));
      // What has come to its end may not have been read to it.
      socket.on('close', () => { if (!socket.readableEnded) this.destroy(); });
      if (this.destroyed) socket.destroy();
      else this.emit('connect');
    }

    _read() {
      this.socket?.resume();
    }

    _write(bytes, encoding, done) {
      this.opened.then((socket) => socket.write(bytes, encoding, done), done);
    }

    _final(done) {
      this.opened.then((socket) => (socket.destroyed ? done() : socket.end(() => done())), done);
    }

    _destroy(error, done) {
      this.socket?.destroy();
      done(error);
    }

    // An idle connection does not keep a program from ending.
    ref() {
      this.isHeld = true;
      this.socket?.ref();
      return this;
    }

    unref() {
      this.isHeld = false;
      this.socket?.unref();
      return this;
    }

    // The way to the proxy is one on this computer, where these make no difference.
    setNoDelay() {
      return this;
    }

    setKeepAlive() {
      return this;
    }

    setTimeout(time, listener) {
      this.opened.then((socket) => {
        socket.setTimeout(time);
        if (listener) socket.once('timeout', listener);
        socket.once('timeout', () => this.emit('timeout'));
      }, () => {});
      return this;
    }
  }

  // Whether a client offers HTTP: a list of names, or bytes in which each name follows its length.
  function offersHttp(protocols) {
    if (Array.isArray(protocols)) return protocols.some((name) => offersHttp(Buffer.from(name)));
    if (!ArrayBuffer.isView(protocols)) return false;
    const text = Buffer.from(protocols.buffer, protocols.byteOffset, protocols.byteLength).toString('latin1');
    return /(^|[\x02\x08])(h2|http\/1\.[01])/.test(text);
  }

  const connectSecured = tls.connect;
  tls.connect = function (...words) {
    const listener = typeof words.at(-1) === 'function' ? words.at(-1) : undefined;
    const named = words.filter((word) => typeof word === 'object' && word !== null);
    const [port, host] = words.filter((word) => ['number', 'string'].includes(typeof word));
    const options = Object.assign({}, port === undefined ? {} : { port }, host === undefined ? {} : { host }, ...named);
    const to = destination(options, true);
    if (options.path || !offersHttp(options.ALPNProtocols) || Number.isNaN(to.port) || isLeftAlone(options, to)) {
      return connectSecured.apply(this, words);
    }
    const pending = new Pending(to.host, to.port);
    const socket = connectSecured.call(this, secured(options, to.host, pending), listener);
    for (const name of ['ref', 'unref']) {
      const own = socket[name];
      socket[name] = function () { pending[name](); return own.call(this); };
    }
    return socket;
  };

  // The connection without TLS that a client of `undici` makes next. It says so on this channel and then does it, at once.
  let awaited;
  diagnostics.channel('undici:client:beforeConnect').subscribe(({ connectParams: { hostname, port, protocol } }) => {
    if (protocol !== 'http:') return;
    awaited = destination({ host: hostname, port }, false);
    queueMicrotask(() => { awaited = undefined; });
  });

  const connectPlain = net.connect;
  net.connect = function (...words) {
    const options = words[0];
    const is = awaited !== undefined && typeof options === 'object' && options !== null && !options.path;
    const to = is ? destination(options, false) : undefined;
    if (!is || to.host !== awaited.host || to.port !== awaited.port || isLeftAlone(options, to)) {
      return connectPlain.apply(this, words);
    }
    return new Pending(to.host, to.port);
  };

  const connect2 = http2.connect;
  http2.connect = function (authority, options, listener) {
    if (typeof options === 'function') [options, listener] = [undefined, options];
    const url = typeof authority === 'string' ? new URL(authority) : authority;
    const secure = (url.protocol || options?.protocol || 'https:') === 'https:';
    const to = destination({ hostname: url.hostname || url.host, port: url.port }, secure);
    if (secure || options?.createConnection || isLeftAlone(options ?? {}, to)) {
      return connect2.call(this, authority, options, listener);
    }
    const createConnection = () => new Pending(to.host, to.port);
    return connect2.call(this, authority, { ...options, createConnection }, listener);
  };

  // Names that are imported from these modules are what they are now.
  Module.syncBuiltinESMExports();
}
