// A js-libp2p peer that speaks the language of `grapevine host`: a command a line on standard
// input, a JSON object a line on standard output.
import './polyfill.mjs';

import { createHash } from 'node:crypto';
import { createInterface } from 'node:readline';

import { gossipsub } from '@libp2p/gossipsub';
import { identify, identifyPush } from '@libp2p/identify';
import { noise } from '@libp2p/noise';
import { ping } from '@libp2p/ping';
import { tcp } from '@libp2p/tcp';
import { yamux } from '@libp2p/yamux';
import { createLibp2p } from 'libp2p';

const { multiaddr } = await import('@multiformats/multiaddr');

const perfProtocol = '/perf/1.0.0';
const block = new Uint8Array(64 * 1024);

const print = (object) => process.stdout.write(JSON.stringify(object) + '\n');
const hash = (data) => createHash('sha256').update(data).digest('hex');

// The bytes of go's default message id: the author, then the sequence number.
function messageId(message) {
  const from = message.from.toMultihash().bytes;
  const seqno = new Uint8Array(8);
  new DataView(seqno.buffer).setBigUint64(0, message.sequenceNumber);
  return new Uint8Array([...from, ...seqno]);
}

const node = await createLibp2p({
  addresses: { listen: ['/ip4/127.0.0.1/tcp/0'] },
  transports: [tcp()],
  connectionEncrypters: [noise()],
  streamMuxers: [yamux()],
  services: {
    identify: identify(),
    identifyPush: identifyPush(),
    ping: ping({ maxOutboundStreams: 16 }),
    pubsub: gossipsub({ globalSignaturePolicy: 'StrictSign', msgIdFn: messageId }),
  },
});

async function sendZeros(stream, count) {
  while (count > 0) {
    const size = Math.min(count, block.length);
    if (!stream.send(block.subarray(0, size))) await stream.onDrain();
    count -= size;
  }
}

async function servePerf(stream) {
  const head = [];
  for await (const chunk of stream) {
    if (head.length < 8) head.push(...chunk.subarray(0, 8 - head.length));
  }
  const wanted = Number(new DataView(new Uint8Array(head).buffer).getBigUint64(0));
  await sendZeros(stream, wanted);
  await stream.close();
}
await node.handle(perfProtocol, servePerf);

const connectionTo = (peer) => {
  const found = node.getConnections().find((one) => one.remotePeer.toString() === peer);
  if (!found) throw new Error(`not connected to ${peer}`);
  return found;
};

const commands = {
  async listen() {
    return { addrs: node.getMultiaddrs().map(String) };
  },
  async dial(address) {
    const connection = await node.dial(multiaddr(address));
    return { peer: connection.remotePeer.toString(), muxer: connection.multiplexer };
  },
  async id(peer) {
    const info = await node.services.identify.identify(connectionTo(peer));
    return {
      agent: info.agentVersion,
      protocolVersion: info.protocolVersion,
      listenAddrs: info.listenAddrs.map(String),
      observedAddr: info.observedAddr?.toString() ?? '',
      protocols: info.protocols,
    };
  },
  async ping(peer, count = '1') {
    const rtts = [];
    for (let i = 0; i < Number(count); i++) {
      rtts.push(await node.services.ping.ping(connectionTo(peer).remotePeer));
    }
    return { rtt_ms: rtts };
  },
  async sub(topic) {
    node.services.pubsub.subscribe(topic);
  },
  async pub(topic, hex) {
    const data = Buffer.from(hex, 'hex');
    const sent = await node.services.pubsub.publish(topic, data);
    return { hash: hash(data), peers: sent.recipients.length };
  },
  async topicpeers(topic) {
    return { peers: node.services.pubsub.getSubscribers(topic).map(String) };
  },
  async perf(peer, up, down) {
    const stream = await connectionTo(peer).newStream(perfProtocol);
    const request = new Uint8Array(8);
    new DataView(request.buffer).setBigUint64(0, BigInt(down));
    const begun = performance.now();
    stream.send(request);
    await sendZeros(stream, Number(up));
    await stream.close();
    let received = 0;
    let uploaded;
    for await (const chunk of stream) {
      uploaded ??= performance.now();
      received += chunk.byteLength;
    }
    uploaded ??= performance.now();
    if (received !== Number(down)) throw new Error(`got ${received} bytes`);
    return {
      upload_s: (uploaded - begun) / 1000,
      download_s: (performance.now() - uploaded) / 1000,
    };
  },
  async unknown(peer) {
    try {
      await connectionTo(peer).newStream('/grapevine/nobody-has-this/1');
    } catch {
      return;
    }
    throw new Error('the peer agreed to it');
  },
  async peers() {
    return { peers: node.getPeers().map(String) };
  },
  async close(peer) {
    await connectionTo(peer).close();
  },
};

node.addEventListener('connection:open', ({ detail }) =>
  print({ ev: 'connected', peer: detail.remotePeer.toString(), dir: detail.direction }));
node.addEventListener('peer:disconnect', ({ detail }) =>
  print({ ev: 'disconnected', peer: detail.toString() }));
node.services.pubsub.addEventListener('message', ({ detail }) =>
  print({
    ev: 'message',
    topic: detail.topic,
    from: detail.from.toString(),
    seqno: detail.sequenceNumber.toString(16).padStart(16, '0'),
    hash: hash(detail.data),
    size: detail.data.length,
  }));

async function execute(line) {
  const words = line.trim().split(/\s+/);
  const tag = words[0].startsWith('@') ? words.shift().slice(1) : undefined;
  const [cmd, ...rest] = words;
  try {
    if (!commands[cmd]) throw new Error(`no command ${cmd}`);
    print({ ev: 'result', cmd, tag, ok: true, ...(await commands[cmd](...rest)) });
  } catch (error) {
    print({ ev: 'result', cmd, tag, ok: false, error: String(error?.message ?? error) });
  }
}

print({ ev: 'ready', peer: node.peerId.toString() });
for await (const line of createInterface({ input: process.stdin })) {
  if (line.trim() === 'quit') break;
  if (line.trim()) execute(line);
}
await node.stop();
process.exit(0);
