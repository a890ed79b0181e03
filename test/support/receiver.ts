import { readFileSync } from 'node:fs'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

/** A certificate for `hook.test` and 127.0.0.1, and what signed it. */
export const CERTIFICATES = join(import.meta.dir, 'trigger/certificate')
/** What signed the certificate of receivers, which names `hook.test` and 127.0.0.1. */
export const RECEIVER_CA = readFileSync(join(CERTIFICATES, 'ca.pem'), 'utf8')

/** A post as a receiver got it. */
export interface ReceivedPost {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** What a receiver does with a post. */
export type Behaviour = (response: ServerResponse, request: IncomingMessage) => void

const SECRET_WORD = 'words-of-the-receiver'
/** What no answer of ours may show. */
export const RECEIVER_BODY = SECRET_WORD

/** By the first part of the path; any other answers 200. */
const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  status(response, { url = '' }) {
    response.writeHead(Number(url.split('/')[2])).end(SECRET_WORD)
  },
  later(response, { url = '' }) {
    response.writeHead(503, { 'retry-after': decodeURIComponent(url.split('/')[2] ?? '') }).end(SECRET_WORD)
  },
  redirect: (response) => void response.writeHead(302, { location: 'http://169.254.169.254/latest/' }).end(),
  headers(response) {
    response.setHeader('x-long', SECRET_WORD.repeat(10_000))
    response.end()
  },
  endless(response) {
    const write = () => {
      if (response.destroyed) return
      response.write(SECRET_WORD.repeat(1_000))
      setImmediate(write)
    }
    write()
  },
  dribble(response) {
    response.writeHead(200)
    const timer = setInterval(() => response.write('x'), 50)
    response.on('close', () => clearInterval(timer))
  },
  hang: () => undefined,
  closed: (response) => void response.socket?.destroy(),
}

/**
 * A receiver of webhooks on 127.0.0.1, over TLS unless `plain`. `behave` decides the response first; undefined: the path
 * decides.
 */
export async function startReceiver(options: { readonly plain?: boolean; readonly behave?: Behaviour } = {}) {
  const received: ReceivedPost[] = []
  let connections = 0
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    let body = ''
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString()
    })
    request.on('end', () => {
      const { url: path = '', headers } = request
      received.push({ path, headers: headers as Record<string, string>, body })
      const behave = options.behave ?? BEHAVIOURS[path.split('/')[1] ?? '']
      if (behave === undefined) response.end(SECRET_WORD)
      else behave(response, request)
    })
    response.on('error', () => undefined)
  }
  const server = options.plain
    ? http.createServer(answer)
    : https.createServer(
        {
          key: readFileSync(join(CERTIFICATES, 'hook.key')),
          cert: readFileSync(join(CERTIFICATES, 'hook.pem')),
        },
        answer,
      )
  server.on('connection', () => connections++)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    port,
    received,
    connections: () => connections,
    stop() {
      server.closeAllConnections()
      return new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}
