import { join } from 'node:path'
import { MARKETS } from '../../devnet/aave_v3/addresses.ts'
import { TOKENS, UNISWAP_V3 } from '../../devnet/addresses.ts'
import { BLOCK_AGE_SEC_MAX } from '../../devnet/chain.ts'
import { MORPHO } from '../../devnet/morpho_blue/calls.ts'
import { type Service, startService } from '../../devnet/service.ts'
import { temporaryDirectory } from '../../support/database.ts'

/** The longest slot that the configuration takes. */
const SLOT_MS = 10_000
const CREDITS = '1000000000000'
const RATE_LIMIT = '100000'
const ROOT = join(import.meta.dir, '../../..')

/**
 * Starts the product as the files in `root` are, with one organization that may ask as much as it likes; what is to be
 * loaded before it is loaded.
 */
export async function startMetered(
  env: Readonly<Record<string, string>>,
  { root = ROOT, preload }: { readonly root?: string; readonly preload?: string } = {},
): Promise<Service> {
  const main = join(root, 'src', 'main.ts')
  const signal = AbortSignal.timeout(60_000)
  const before = preload === undefined ? [] : ['--preload', preload]
  const service = await startService({ command: [process.execPath, ...before, main, 'serve'], env, signal })
  await command([main, 'org', 'limit', service.organizationId, RATE_LIMIT], env)
  await command([main, 'credits', 'grant', service.organizationId, CREDITS, '--reason', 'bench'], env)
  return service
}

/** What the service is configured by: a devnet in Ethereum's place, at an endpoint. */
export async function environment(options: {
  readonly url: string
  /** Absent: Solana is not served. */
  readonly solanaUrl?: string
  /** @default 1 */
  readonly chainId?: number
  /** Laid over the row of the devnet. */
  readonly row: object
}): Promise<Readonly<Record<string, string>>> {
  const { url, solanaUrl, chainId = 1, row } = options
  const directory = temporaryDirectory()
  const chainsFile = join(directory, 'chains.json')
  const { main, lido, etherfi } = MARKETS
  const chain = {
    id: chainId,
    name: 'Devnet',
    rpcUrls: [url],
    maxBlockAgeSec: BLOCK_AGE_SEC_MAX,
    uniswapV3: [{ manager: UNISWAP_V3.manager, factory: UNISWAP_V3.factory }],
    aaveV3: Object.entries({ main, lido, etherfi }).map(([market, { provider }]) => ({
      market,
      poolAddressesProvider: provider,
    })),
    morphoBlue: { morpho: MORPHO },
    prices: {
      usdFeeds: Object.fromEntries(Object.values(TOKENS).map(({ address, feed }) => [address, feed])),
      aaveOracle: main.oracle,
    },
    ...row,
  }
  await Bun.write(
    chainsFile,
    JSON.stringify({ chains: [chain], solana: { maxSlotAgeSec: BLOCK_AGE_SEC_MAX, slotMs: SLOT_MS } }),
  )
  return {
    ...Object.fromEntries(['PATH', 'HOME', 'TMPDIR'].map((name) => [name, process.env[name] ?? ''])),
    HOST: '127.0.0.1',
    PORT: '0',
    DATA_DIR: join(directory, 'data'),
    CHAINS: `${chainId}${solanaUrl === undefined ? '' : ',101'}`,
    LOG_LEVEL: 'warn',
    CHAINS_FILE: chainsFile,
    ...(solanaUrl !== undefined && { SOLANA_RPC_URL: solanaUrl }),
  }
}

async function command(words: readonly string[], env: Readonly<Record<string, string>>): Promise<void> {
  const child = Bun.spawn([process.execPath, ...words], { env, stdout: 'ignore' })
  const status = await child.exited
  if (status !== 0) throw new Error(`Cannot run "${words.join(' ')}": status ${status}`)
}
