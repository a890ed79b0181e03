import type { Address, Hex } from 'viem'
import { getKnownTokens } from '../../finance/token/spam.ts'
import type { Work } from '../../lib/async/work.ts'
import type { Testimony } from '../contract.ts'
import { countOmitted, type HoldingsReader, type HoldingsRequest } from '../holding.ts'
import { exitMarket } from './exit.ts'
import { outlookMarket, toHoldings } from './present.ts'
import type { EnteredMarkets, EnteredMarketsReader, PendingMarkets } from './read/entered.ts'
import type { MidnightTarget, PositionReader } from './read/read.ts'

/** Creates the reader of a wallet's debts, collaterals and credits as rows of a portfolio. */
export function createHoldingsReader(options: {
  readonly reader: PositionReader
  readonly entered: EnteredMarketsReader
  readonly testimony?: Testimony | undefined
}): HoldingsReader {
  const { reader, entered, testimony } = options

  /** Starts reading the markets that a wallet entered. */
  async function begin(target: MidnightTarget, wallet: Address, work: Work): Promise<PendingMarkets> {
    if (testimony !== undefined) {
      const subject = { chainId: target.client.chain.id, name: 'morpho-midnight markets' }
      const texts = await testimony.tell(subject, async (client) => {
        const { marketIds, notRead } = await entered.read({ ...target, client }, wallet, work)
        return [...marketIds, ...notRead]
      })
      const isId = (text: string): text is Hex => text.startsWith('0x')
      const told = { marketIds: texts.filter(isId), notRead: texts.filter((text) => !isId(text)) }
      return { known: told, all: Promise.resolve(told) }
    }
    if (target.block === undefined) return await entered.prefetch(target, wallet, work)
    return { known: undefined, all: entered.read(target, wallet, work) }
  }

  return {
    chainIds: new Set(reader.targets.keys()),
    async open(wallet, { client, block }, work) {
      const configured = reader.targets.get(client.chain.id)
      if (configured === undefined) return undefined
      const target = { ...configured, client, ...(block && { block }) }
      const deployments = await reader.past.filterDeployed(target, work)
      if (deployments.length === 0) return undefined
      const pending = await begin(target, wallet, work)
      let latest = pending.known ?? (await pending.all)
      const known = getKnownTokens(client.chain)
      const contracts = deployments.map(({ midnight }) => midnight)

      async function readMarkets(
        { marketIds }: EnteredMarkets,
        { endpoint, block: at, positionsMax }: HoldingsRequest,
        within: Work,
      ) {
        const walletQuery = { wallet, marketIds: marketIds.slice(0, positionsMax) }
        const read = await reader.ask(endpoint, { client, deployments, walletQuery, ...(at && { block: at }) }, within)
        const markets = read.markets.filter((each) => typeof each !== 'string')
        return {
          block: read.block,
          rows: markets.flatMap((each) => toHoldings(each, known)),
          ...countOmitted({ family: 'morpho-midnight', kind: 'supplied', count: marketIds.length }, positionsMax),
          ownTokens: [],
          listOutlooks: () => markets.map(outlookMarket),
          listExits: () =>
            markets.flatMap((held) => contracts.map((midnight) => exitMarket(held, { wallet, midnight }))),
          lenders: contracts,
        }
      }

      return async (request, within) => {
        const requested = latest
        const [holdings, all] = await Promise.all([readMarkets(requested, request, within), pending.all])
        latest = all
        const isSame = all.marketIds.join() === requested.marketIds.join()
        const told = isSame ? holdings : await readMarkets(all, request, within)
        return { ...told, notRead: [...all.notRead, ...nameOmitted(all.marketIds.length - request.positionsMax)] }
      }
    },
  }
}

/** Says that markets beyond the maximum were not read: any of them may have a debt. */
function nameOmitted(count: number): readonly string[] {
  return count > 0 ? [`debts in ${count} more markets of morpho-midnight`] : []
}
