import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { createRpc } from './rpc.ts'
import { eachLine, spawnSupervised } from './supervised.ts'

const READY_LIMIT_MS = 10_000
const STOP_LIMIT_MS = 5_000
/**
 * States of past blocks, all in memory. Otherwise those of more than some hundred blocks go to files under ~/.foundry,
 * up to a megabyte each, which a killed node leaves behind, and reads of which take tens of milliseconds.
 */
const STATES_MAX = 20_000

export interface AnvilOptions {
  /** @default 1 */
  readonly chainId?: number
  /** Unix seconds of the genesis block; absent: now. */
  readonly timestampSec?: number
  /**
   * From Prague on each block keeps its parent's hash in a contract (EIP-2935), whose storage Anvil hashes anew with each
   * block: with `cancun` chains of a thousand blocks take a third of the time. Absent: the newest.
   */
  readonly hardfork?: 'cancun'
  /** The node whose chain this one goes on from. */
  readonly forkUrl?: string
}

export interface Anvil {
  readonly rpcUrl: string
  readonly pid: number
  /** Resolves to the exit status when anvil is gone, for whatever reason. */
  readonly exited: Promise<number>
  stop(): Promise<void>
}

/** Starts a local Ethereum on a port of the system's choice, without fees and with every sender unlocked. */
export async function startAnvil(options: AnvilOptions = {}): Promise<Anvil> {
  const child = spawnSupervised([anvilPath(), ...flags(options)])
  const stop = () => child.stop('SIGKILL', STOP_LIMIT_MS)
  const ready = Promise.withResolvers<string>()
  const limit = setTimeout(() => {
    ready.reject(new Error(`Cannot start anvil: not ready within ${READY_LIMIT_MS} ms`))
  }, READY_LIMIT_MS)
  void eachLine(child.stdout, (line) => {
    const address = /^Listening on (\S+)$/.exec(line)?.[1]
    if (address !== undefined) ready.resolve(`http://${address}`)
  })
  void child.exited.then((status) => ready.reject(new Error(`Cannot start anvil: it exited with status ${status}`)))
  try {
    const rpcUrl = await ready.promise
    // It would write a line for each call, which takes it as long as a small call itself, and us to read it.
    await createRpc(rpcUrl).call('anvil_setLoggingEnabled', false)
    return { rpcUrl, pid: child.pid, exited: child.exited, stop }
  } catch (error) {
    await stop()
    throw error
  } finally {
    clearTimeout(limit)
  }
}

/** The program itself; the package's own launcher would cost a Node start. */
function anvilPath(): string {
  const arch = process.arch === 'x64' ? 'amd64' : process.arch
  const platform = `@foundry-rs/anvil-${process.platform}-${arch}`
  const wrapper = createRequire(import.meta.url).resolve('@foundry-rs/anvil/package.json')
  const manifest = createRequire(wrapper).resolve(`${platform}/package.json`)
  return join(dirname(manifest), 'bin', 'anvil')
}

function flags({ chainId = 1, timestampSec, hardfork, forkUrl }: AnvilOptions): string[] {
  return [
    ...['--port', '0', '--chain-id', String(chainId), '--accounts', '1', '--auto-impersonate'],
    ...['--order', 'fifo', '--block-base-fee-per-gas', '0', '--gas-price', '0', '--disable-min-priority-fee'],
    // A limit like mainnet's: tokens that burn all gas must find an end.
    ...['--gas-limit', '60000000', '--no-request-size-limit', '--prune-history', String(STATES_MAX)],
    ...(hardfork === undefined ? [] : ['--hardfork', hardfork]),
    ...(timestampSec === undefined ? [] : ['--timestamp', String(timestampSec)]),
    ...(forkUrl === undefined ? [] : ['--fork-url', forkUrl, '--no-rate-limit', '--no-storage-caching']),
  ]
}
