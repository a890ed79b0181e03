import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Address } from 'viem'
import { SLOT, scene, WALLET } from '../support/kamino_scene.ts'
import { orcaScene } from '../support/orca_scene.ts'
import { startSolanaDouble } from '../support/solana.ts'
import { walletScene } from '../support/wallet_scene.ts'
import { untilEmpty } from '../system/program/processes.ts'
import type { AaveDevnet } from './aave_v3/mod.ts'
import { SCENARIO_SEC } from './aave_v3/scenario.ts'
import type { AaveV4Devnet } from './aave_v4/mod.ts'
import { BANK } from './addresses.ts'
import { createChainsFile, DEVNET_ROW } from './chain.ts'
import type { COMET_WALLETS } from './compound_v3/mod.ts'
import { type Devnet, startDevnet } from './mod.ts'
import type { MorphoDevnet } from './morpho_blue/mod.ts'
import { placeNames } from './names.ts'
import { addPancakeswapFarm, type PancakeswapFarm } from './pancakeswap_v3/farm.ts'
import { addPancakeswapV3, type PancakeswapDevnet } from './pancakeswap_v3/mod.ts'
import { watchParentRunner } from './parent_watch.ts'
import { type Service, startService } from './service.ts'
import { addStakedSlipstream } from './slipstream.ts'
import { DEMO_V4_POOLS, mintEach, tradePools } from './uniswap_v4/mint_each.ts'

const CHAINS_FILE = 'chains.json'
const PORT_DEFAULT = 8080
const PORTS_TRIED = 100
/** Time that passes while Morpho's wallets are made, and some to spare. */
const MORPHO_SEC = 3 * 86_400
/** The first id of PancakeSwap's manager: an id of one manager alone needs no address beside it. */
const PANCAKESWAP_ID = 500_001n
/** Pace of the stand-in for Solana, whose reserves are refreshed and priced at every slot. */
const SLOT_MS = 400
/** Requests per second. */
const RATE_LIMIT = '100'
/** Between two blocks of the chain, once everything is on it. */
const BLOCK_MS = 4_000
const DISCARD_LIMIT_MS = 5_000
/** Within this the death of the chain's node is noticed. */
const DEATH_LIMIT_MS = 1_000

interface Ending {
  readonly status: 0 | 1
  readonly message: string
}

interface Demo {
  /** What was started, in this order; stopped in the opposite one. */
  readonly started: (() => Promise<unknown>)[]
  readonly signal: AbortSignal
  readonly end: (ending: Ending) => void
}

/** Runs `command`, whose last word is `serve`, against a local Ethereum until a signal comes or a part of it dies; returns the exit status. */
async function runDemo(command: readonly string[]): Promise<number> {
  const ending = Promise.withResolvers<Ending>()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    // More of them change nothing: a terminal and a package runner may each send their own.
    process.on(signal, () => ending.resolve({ status: 0, message: 'Stopping the demo' }))
  }
  watchParentRunner(() =>
    ending.resolve({ status: 0, message: 'Stopping the demo, as whatever started it was told to end' }),
  )
  // A terminal that was closed takes no more lines; that must not keep us from stopping what we started.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined)

  const abort = new AbortController()
  const started: (() => Promise<unknown>)[] = []
  const starting = start(command, { started, signal: abort.signal, end: ending.resolve })
  starting.catch((error: Error) => ending.resolve({ status: 1, message: error.message }))
  const { status, message } = await ending.promise
  say(`\n${message}`)
  abort.abort()
  await starting.catch(() => undefined)
  let failed = false
  for (const stop of started.reverse()) {
    await stop().catch((error: Error) => {
      failed = true
      say(`Cannot stop a part of the demo: ${error.message}`)
    })
  }
  if (failed) return 1
  say("Stopped: nothing is left running, and the demo's database is deleted")
  return status
}

async function start(command: readonly string[], { started, signal, end }: Demo): Promise<void> {
  const startedAt = performance.now()
  const seconds = () => `${((performance.now() - startedAt) / 1000).toFixed(1)} s`
  const progress = (message: string) => say(`${seconds().padStart(7)}  ${message}`)

  // The chain begins so long ago that its past, with weeks of interest, ends in the present.
  const devnet = await startDevnet({ onProgress: progress, ageSec: SCENARIO_SEC + MORPHO_SEC })
  started.push(devnet.stop)
  void devnet.exited.then((status) => end(died('The local Ethereum', status)))
  if (signal.aborted) return
  progress('Placing PancakeSwap V3 and its MasterChef, which pays for a position')
  const { pancakeswap, farm } = await addFarmer(devnet)
  progress('Placing Slipstream, with a position in a gauge')
  const slipstream = await addStakedSlipstream(devnet)

  const directory = await mkdtemp(join(tmpdir(), 'walletscope-demo-'))
  started.unshift(() => discard(directory))
  // The database server may run as another user than we do, and must get through to its own directory.
  await chmod(directory, 0o755)
  const port = freePort(Number(process.env['PORT']) || PORT_DEFAULT)
  progress('Starting the service on its embedded PostgreSQL')
  const solana = startSolanaDouble({
    accounts: (slot) => ({ ...scene({}, { slot }), ...orcaScene(), ...walletScene() }),
    slot: SLOT,
    slotMs: SLOT_MS,
  })
  started.push(solana.stop)
  await writeFile(
    join(directory, CHAINS_FILE),
    createChainsFile(devnet.rpcUrl, toRow({ pancakeswap, farm, slipstream })),
  )
  const env = environment({ devnet, solanaUrl: solana.url, directory, port })
  const service = await startService({ command, signal, env })
  started.push(service.stop)
  void service.exited.then((status) => end(died('The service', status)))
  await raiseRateLimit(command, { organizationId: service.organizationId, env })
  progress('Ready')
  say(
    instructions(
      service,
      { ...devnet, farmer: pancakeswap.owner, staker: slipstream.owner },
      formatLogin(command, env),
    ),
  )
  // Not awaited at exit: the compilers that it may run end with this process.
  void addRest({ devnet, service, progress, signal }).catch((error: Error) =>
    end({ status: 1, message: error.message }),
  )
}

/**
 * Adds PancakeSwap, its MasterChef, and a wallet that stakes one position. The bank's nonce stays, so that what it
 * deploys later has the addresses of README.
 */
async function addFarmer(devnet: Devnet) {
  const nonce = await devnet.rpc.call('eth_getTransactionCount', BANK, 'latest')
  const pancakeswap = await addPancakeswapV3(devnet, { firstId: PANCAKESWAP_ID })
  const farm = await addPancakeswapFarm(devnet, pancakeswap)
  await devnet.send([farm.stake(pancakeswap.owner, PANCAKESWAP_ID)])
  await devnet.rpc.call('anvil_setNonce', BANK, nonce)
  return { pancakeswap, farm }
}

/** The devnet's row with PancakeSwap, its MasterChef, Slipstream, and the prices of what they pay. */
function toRow({
  pancakeswap: { manager, factory },
  farm: { masterChef, cake, cakeFeed },
  slipstream,
}: {
  readonly pancakeswap: PancakeswapDevnet
  readonly farm: PancakeswapFarm
  readonly slipstream: Awaited<ReturnType<typeof addStakedSlipstream>>
}) {
  const custodians = [{ kind: 'masterchef', address: masterChef }]
  return {
    uniswapV3: [...DEVNET_ROW.uniswapV3, { manager, factory, code: 'pancakeswap_v3', custodians }],
    ...slipstream.row,
    add: { prices: { usdFeeds: { [cake]: cakeFeed, ...slipstream.usdFeeds } } },
  }
}

/** Lets all lines be pasted at once: the limit of a new organization is for production. Works beside the service. */
async function raiseRateLimit(
  command: readonly string[],
  { organizationId, env }: { readonly organizationId: string; readonly env: Readonly<Record<string, string>> },
): Promise<void> {
  const program = command.slice(0, -1)
  const child = Bun.spawn([...program, 'org', 'limit', organizationId, RATE_LIMIT], { env, stdout: 'ignore' })
  const status = await child.exited
  if (status !== 0) throw new Error(`Cannot raise the rate limit of the demo: status ${status}`)
}

/** The command line that prints another login link of the demo, to paste into a shell. */
function formatLogin(
  command: readonly string[],
  { DATA_DIR = '', PORT = '' }: Readonly<Record<string, string>>,
): string {
  return `DATA_DIR='${DATA_DIR}' PORT=${PORT} ${command.slice(0, -1).join(' ')} login`
}

/** Adds Uniswap V4 and the lending protocols, some of them compiled from source once in a checkout, while V3 answers. */
async function addRest(demo: {
  readonly devnet: Devnet
  readonly service: Service
  readonly progress: (message: string) => void
  readonly signal: AbortSignal
}): Promise<void> {
  const { devnet, service, progress, signal } = demo
  try {
    progress('Placing Morpho Blue; its first compilation takes some seconds')
    const morpho = await devnet.morpho()
    const aave = await devnet.aave()
    const aaveV4 = await devnet.aaveV4()
    const comet = await devnet.compoundV3()
    progress('Making pools and positions of Uniswap V4')
    const v4 = await devnet.uniswapV4()
    await mintEach(v4, { names: DEMO_V4_POOLS, owner: devnet.wallets.provider })
    await tradePools(v4, DEMO_V4_POOLS)
    // Last: what it deploys would give others new addresses.
    await placeNames(devnet)
    const depositor = await devnet.vaults()
    progress('The rest is ready')
    say(restInstructions(service, { devnet, morpho, aave, aaveV4, comet, depositor }))
    await mineOn(devnet, signal)
  } catch (error) {
    // A chain that is stopping, or has died, does not answer; its supervisor reports that better.
    await Promise.race([devnet.exited, Bun.sleep(DEATH_LIMIT_MS)])
    if (!signal.aborted) throw error
  }
}

/** Mines a block every few seconds, so that figures move with time and triggers fire, until `signal` fires. */
async function mineOn(devnet: Devnet, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await Bun.sleep(BLOCK_MS)
    if (!signal.aborted) await devnet.rpc.call('evm_mine')
  }
}

/** Deletes a directory once no process uses it: the database server of a killed service needs a moment to end. */
async function discard(directory: string): Promise<void> {
  await untilEmpty(directory, DISCARD_LIMIT_MS)
  await rm(directory, { recursive: true, force: true, maxRetries: 5 })
}

function died(part: string, status: number): Ending {
  return { status: 1, message: `${part} ended by itself with status ${status}: the demo cannot go on` }
}

/** Only what the demo decides: a DATABASE_URL or CHAINS_FILE that happens to be set is not for it. */
function environment(demo: {
  readonly devnet: Devnet
  readonly solanaUrl: string
  readonly directory: string
  readonly port: number
}) {
  const kept = ['PATH', 'HOME', 'TMPDIR', 'LANG'].flatMap((name) => {
    const value = process.env[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  return {
    ...Object.fromEntries(kept),
    HOST: '127.0.0.1',
    PORT: String(demo.port),
    DATA_DIR: join(demo.directory, 'data'),
    CHAINS: String(demo.devnet.chainId),
    CHAINS_FILE: join(demo.directory, CHAINS_FILE),
    SOLANA_RPC_URL: demo.solanaUrl,
    LOG_LEVEL: 'warn',
  }
}

/** The wanted port, or the next free one. */
function freePort(wanted: number): number {
  for (let port = wanted; port < wanted + PORTS_TRIED; port++) {
    try {
      Bun.listen({ hostname: '127.0.0.1', port, socket: { data() {} } }).stop(true)
      return port
    } catch {
      // Taken: the next one may be free.
    }
  }
  throw new Error(`Cannot find a free port from ${wanted} to ${wanted + PORTS_TRIED - 1}`)
}

function instructions(
  { url, apiKey, logins: [organization, operator] }: Service,
  { wallets, positions, rpcUrl, farmer, staker }: Devnet & { readonly farmer: Address; readonly staker: Address },
  loginCommand: string,
): string {
  const curl = (target: string) =>
    `curl -s -H 'Authorization: Bearer ${apiKey}' '${url}/v1/positions/uniswap-v3${target}'`
  return `
Walletscope listens on ${url}
API key, valid until the demo stops: ${apiKey}

A wallet's open positions:
  ${curl(`?wallet=${wallets.provider}`)}
The same with amounts, uncollected fees and USD values:
  ${curl(`?wallet=${wallets.provider}&full=true`)}
One position by its id:
  ${curl(`/${positions.inRange}`)}

Or look at it in a browser, with the same key:
  ${url}/#wallet=${wallets.provider}
Usage of the key, and the operator's page; each link signs in once, within 15 minutes:
  ${organization}
  ${operator}
Another link for the operator, and with --org default for the usage page:
  ${loginCommand}

The chain is at ${rpcUrl}

Other wallets to ask for:
  ${wallets.single}  one position
  ${wallets.retired}  only closed ones (add &status=inactive)
  ${wallets.spammed}  a good one, and spam that is left out and explained in counts.spams
  ${farmer}  PancakeSwap V3, one position staked in its MasterChef
  ${staker}  Slipstream, one position staked in a gauge
  ${wallets.empty}  none

Ctrl-C stops everything and deletes the demo's data.`
}

function restInstructions(
  { url, apiKey }: Service,
  {
    devnet,
    morpho,
    aave,
    aaveV4,
    comet,
    depositor,
  }: {
    readonly devnet: Devnet
    readonly morpho: MorphoDevnet
    readonly aave: AaveDevnet
    readonly aaveV4: AaveV4Devnet
    readonly comet: typeof COMET_WALLETS
    readonly depositor: string
  },
): string {
  const curl = (target: string) => `curl -s -H 'Authorization: Bearer ${apiKey}' '${url}/v1/${target}'`
  return `
The first wallet's positions of Uniswap V4, four of them in pools with ether or a hook:
  ${curl(`positions/uniswap-v4?wallet=${devnet.wallets.provider}&full=true`)}
What a wallet is worth, and why:
  ${curl(`portfolio/balance?wallet=${aave.wallets.everywhere}`)}
Its three markets of Aave V3:
  ${curl(`lending/aave-v3?wallet=${aave.wallets.everywhere}`)}
A wallet with debts in Aave V4, its contracts as they answered elsewhere:
  ${curl(`lending/aave-v4?wallet=${aaveV4.wallet}`)}
A borrower on Compound V3, its market as it answered elsewhere:
  ${curl(`lending/compound-v3?wallet=${comet.borrower}`)}
A borrower on Morpho Blue:
  ${curl(`lending/morpho-blue/position/1/yield?wallet=${morpho.wallets.borrower}&market_id=${morpho.markets.wethUsdc.id}`)}
What a wallet has in a vault, which is OpenZeppelin's:
  ${curl(`positions/vaults?wallet=${depositor}`)}
Obligations on Kamino, their accounts made up and served by a stand-in for Solana:
  ${curl(`lending/kamino?wallet=${WALLET}`)}
The same wallet's liquidity on Orca:
  ${curl(`positions/orca-whirlpool?wallet=${WALLET}&full=true`)}

And what that wallet is worth in all:
  ${curl(`portfolio/balance?wallet=${WALLET}`)}

The same in a browser:
  ${url}/#wallet=${aave.wallets.everywhere}
  ${url}/#wallet=${aaveV4.wallet}
  ${url}/#wallet=${morpho.wallets.borrower}
  ${url}/#wallet=${WALLET}
`
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}

if (import.meta.main) {
  const main = join(import.meta.dir, '../../src/main.ts')
  process.exit(await runDemo([process.execPath, main, 'serve']))
}
