import type { Address, Hex } from 'viem'
import { getKnownTokens } from '../../finance/token/spam.ts'
import type { Work } from '../../lib/async/work.ts'
import type { Testimony } from '../contract.ts'
import { countOmitted, type HoldingsReader, type HoldingsRequest } from '../holding.ts'
import { exitMarket } from './exit.ts'
import { toHoldings } from './present/holdings.ts'
import { outlookMarket } from './present/outlook.ts'
import { type EnteredMarketsReader, type PendingMarkets, takeFirstIds } from './read/entered_markets.ts'
import type { MorphoBlueTarget, PositionReader } from './read/read.ts'

/**
 * Creates the reader of a wallet's positions as rows of a portfolio. At the newest block it reads the stored markets
 * while history catches up, and reads again if history then has other markets. A market first entered in blocks that
 * arrive meanwhile is in the next answer.
 */
export function createHoldingsReader(options: {
  readonly reader: PositionReader
  readonly entered: EnteredMarketsReader
  readonly testimony?: Testimony | undefined
}): HoldingsReader {
  const { reader, entered, testimony } = options

  /** Starts reading the markets that a wallet entered. */
  async function begin(target: MorphoBlueTarget, wallet: Address, work: Work): Promise<PendingMarkets> {
    if (testimony === undefined && target.block === undefined) return await entered.prefetch(target, wallet, work)
    if (testimony === undefined) return { stored: undefined, all: entered.markets(target, wallet, work) }
    const subject = { chainId: target.client.chain.id, name: 'morpho-blue markets' }
    const marketIds = await testimony.tell(subject, async (client) => {
      return (await entered.markets({ ...target, client }, wallet, work)).marketIds
    })
    return { stored: undefined, all: Promise.resolve({ marketIds: marketIds as readonly Hex[] }) }
  }

  return {
    chainIds: new Set(reader.targets.keys()),
    async open(wallet, { client, block }, work) {
      const configured = reader.targets.get(client.chain.id)
      if (configured === undefined) return undefined
      const target = { ...configured, ...(block && { block }) }
      const deployments = await reader.past.filterDeployed(target, work)
      if (deployments.length === 0) return undefined
      const pending = await begin(target, wallet, work)
      let latestIds = pending.stored ?? (await pending.all).marketIds
      const known = getKnownTokens(client.chain)
      const contracts = deployments.map(({ morpho }) => morpho)
      const readMarkets = async (
        marketIds: readonly Hex[],
        { endpoint, block: at, positionsMax }: HoldingsRequest,
        within: Work,
      ) => {
        const walletQuery = { wallet, marketIds: takeFirstIds(marketIds, positionsMax) }
        const read = await reader.ask(endpoint, { client, deployments, walletQuery, ...(at && { block: at }) }, within)
        const heldReads = read.markets.filter((each) => each.kind !== 'absent')
        const heldMarkets = heldReads.map((each) => (each.kind === 'position' ? each.position : each.held))
        return {
          block: read.block,
          rows: heldMarkets.flatMap((each) => toHoldings(each, known)),
          ...countOmitted({ family: 'morpho-blue', kind: 'supplied', count: marketIds.length }, positionsMax),
          ownTokens: [],
          notRead: [],
          listOutlooks: () => heldReads.map((each) => outlookMarket(each, read.block)),
          listExits: () =>
            heldMarkets.flatMap((held) => contracts.map((morpho) => exitMarket(held, { wallet, morpho }))),
          lenders: contracts,
        }
      }
      return async (request, within) => {
        const requestedIds = latestIds
        const [holdings, { marketIds }] = await Promise.all([readMarkets(requestedIds, request, within), pending.all])
        latestIds = marketIds
        return marketIds.join() === requestedIds.join() ? holdings : await readMarkets(marketIds, request, within)
      }
    },
  }
}
