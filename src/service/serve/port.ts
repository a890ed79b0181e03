import { createServer, type Server } from 'node:net'
import type { HattipHandler } from '@hattip/core'
import type { ListeningServer } from '../../http/server/listening.ts'
import type { Clock } from '../../lib/clock.ts'
import { getErrnoCode } from '../../lib/error.ts'
import type { ServeOptions } from './options.ts'

const FAILURES: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another program uses it',
  EACCES: 'this user may not use that port',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'this machine has no such address',
}

/** Opens a port; a failure names the setting that chose it. */
export async function openPort(
  handler: HattipHandler,
  {
    listen,
    name,
    ...address
  }: Pick<ServeOptions, 'listen'> & {
    readonly name: string
    readonly host: string
    readonly port: number
    readonly shared: boolean
    readonly clock: Clock
  },
): Promise<ListeningServer> {
  try {
    return await listen({ handler }, address)
  } catch (cause) {
    const reason = FAILURES[getErrnoCode(cause)] ?? 'the system refused'
    throw new Error(`Cannot listen on HOST ${address.host} ${name} ${address.port}: ${reason}`, { cause })
  }
}

/**
 * Claims a port for workers, which share it, until the result is called. Throws as `openPort` if another program has the
 * port, or another supervisor has claimed it and is about to open it: the system would split the requests between both.
 */
export async function claimPort(
  address: Pick<ServeOptions, 'listen'> & {
    readonly name: string
    readonly host: string
    readonly port: number
    readonly clock: Clock
  },
): Promise<() => void> {
  const { name, host, port } = address
  if (port === 0) return () => {}
  const claim = await listenAbstract(`walletscope ${host} ${port}`).catch((cause: unknown) => {
    throw new Error(`Cannot listen on HOST ${host} ${name} ${port}: another service is starting there`, { cause })
  })
  try {
    const server = await openPort(() => new Response(null, { status: 503 }), { ...address, shared: false })
    await server.stop()
    return () => claim?.close()
  } catch (error) {
    claim?.close()
    throw error
  }
}

/**
 * Listens on an abstract socket: a name that one process has, until that process ends however it ends. Only Linux has
 * them; undefined elsewhere.
 */
async function listenAbstract(name: string): Promise<Server | undefined> {
  if (process.platform !== 'linux') return undefined
  return await new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy())
    server.once('error', reject)
    server.listen(`\0${name}`, () => resolve(server))
    server.unref()
  })
}
