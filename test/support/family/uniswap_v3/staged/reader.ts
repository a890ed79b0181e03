import type { Endpoint } from '../../../../../src/chain/rpc/client.ts'
import type { RawRead } from '../../../../../src/family/uniswap_v3/read/abi.ts'
import { interpret } from '../../../../../src/family/uniswap_v3/read/position.ts'
import type { UniswapV3Target } from '../../../../../src/family/uniswap_v3/read/queries.ts'
import type { PositionReader } from '../../../../../src/family/uniswap_v3/read/read.ts'
import type { UniswapV3Deployment } from '../../../../../src/family/uniswap_v3/table/deployments.ts'
import type { FinanceClient } from '../../../../../src/finance/chain.ts'
import { getPriceSources } from '../../../../../src/finance/price/price_sources.ts'
import { createSpamFilter } from '../../../../../src/finance/token/spam_filter.ts'
import { runCooperatively } from '../../../../../src/lib/async/cooperative.ts'
import { MULTICALL3 } from '../../../../devnet/addresses.ts'
import type { StagedSource } from './entries.ts'
import { readOneStaged, readWalletStaged } from './read.ts'

type Reading = (source: StagedSource, signal: AbortSignal) => Promise<RawRead>

/** Creates a reader of one chain that reads whole lists in stages, and interprets answers as the real one does. */
export function createStagedReader(
  client: FinanceClient,
  deployments: readonly UniswapV3Deployment[],
): Pick<PositionReader, 'targets' | 'readWallet' | 'readOne'> {
  const { chain } = client
  const place: UniswapV3Target = { client, deployments }
  const { classify: judge } = createSpamFilter()

  async function read(reading: Reading, spam: 'apart' | 'included', signal: AbortSignal) {
    const subject = { deployments, prices: getPriceSources(chain) }
    const attempt = (endpoint: Endpoint, within: AbortSignal) =>
      reading({ endpoint, chainId: chain.id, multicall3: MULTICALL3, subject }, within)
    const raw = await client.read(attempt, { signal, budgetMs: 20_000 })
    return {
      ...(await runCooperatively(interpret(raw, { chain, deployments, classifyToken: judge, isPriced: true, spam }))),
      untilMs: 0,
    }
  }

  return {
    targets: new Map([[chain.id, place]]),
    async readWallet(wallet, { signal }) {
      return [await read((source, within) => readWalletStaged(source, wallet, within), 'apart', signal)]
    },
    async readOne(tokenId, { signal }) {
      return [await read((source, within) => readOneStaged(source, tokenId, within), 'included', signal)]
    },
  }
}
