import * as v from 'valibot'
import { type Hex, zeroHash } from 'viem'
import { documented, evmAddress } from '../../http/request/input.ts'
import { textSchema } from '../../lib/text/text_format.ts'
import { address, defineFamily, startBlock } from '../contract.ts'
import { LENDING_FIGURES } from '../lending/watched.ts'
import type { Watchable } from '../watch.ts'
import { createHoldingsReader } from './holdings.ts'
import { createEnteredMarketsReader, ENTRY_STREAM, toStreamTarget } from './read/entered.ts'
import { createLifeStream } from './read/lives.ts'
import { createPositionReader } from './read/read.ts'
import { MORPHO_MIDNIGHT_DEPLOYMENTS } from './table.ts'
import { createWatcher } from './watch.ts'

const MARKET_ID = { pattern: /^0x[0-9a-fA-F]{64}$/, words: '0x and 64 hex digits' }
const EXPECTED_MARKET = 'expected the id of a Midnight market, 0x and 64 hexadecimal digits'

const marketId = v.pipe(
  v.string(EXPECTED_MARKET),
  v.regex(MARKET_ID.pattern, EXPECTED_MARKET),
  v.transform((text) => text.toLowerCase() as Hex),
  documented({ ...textSchema(MARKET_ID), description: 'Id of the market, 32 bytes.' }),
)

const subject = v.strictObject({ wallet: evmAddress, market_id: marketId })

/** Description of the family's subject: a wallet in a market. Its figures stand in rows of the portfolio. */
const WATCHABLE: Watchable = {
  subject: () => subject,
  figures: LENDING_FIGURES,
  events: [],
  answerPath: ({ wallet }, chainId, blockNumber) =>
    `/v1/portfolio/assets?wallet=${wallet}&chain_id=${chainId}&at_block=${blockNumber}`,
}

/** Morpho Midnight: wallets' debts, collaterals and credits in its markets, each of which matures at a time. */
export const MORPHO_MIDNIGHT = defineFamily({
  name: 'morpho-midnight',
  aliases: [],
  network: 'evm',
  entries: { morphoMidnight: v.optional(v.strictObject({ midnight: address, startBlock })) },
  builtIn: MORPHO_MIDNIGHT_DEPLOYMENTS,
  getSetting: ({ morphoMidnight }) => morphoMidnight,
  listContracts: ({ midnight }) => [{ address: midnight, name: `at ${midnight}` }],
  hasDebts: true,
  contracts({ settings, ...setup }) {
    const reader = createPositionReader({ ...setup, deployments: settings })
    return [...reader.targets.values()].map((target) => ({
      // The market does not exist, but Midnight answers for it.
      read: (wallet, work) => reader.read(target, { marketIds: [zeroHash], wallet }, work),
    }))
  },
  routes: () => [],
  holdings({ settings, connect }) {
    const services = connect()
    const reader = createPositionReader({ ...services, deployments: settings })
    const entered = createEnteredMarketsReader({ ...services, lives: createLifeStream(reader) })
    return createHoldingsReader({ reader, entered, testimony: services.testimony })
  },
  watch: ({ settings, connect }) => ({
    ...WATCHABLE,
    watcher: () => createWatcher({ ...connect(), deployments: settings }),
  }),
  histories: ({ settings, connect }) =>
    [...settings].flatMap(([chainId, deployment]) => {
      const target = toStreamTarget(chainId, deployment)
      return [
        {
          chainId,
          title: 'morpho-midnight markets',
          complete: (reader, work) => reader.complete({ stream: ENTRY_STREAM, target }, work),
        },
        {
          chainId,
          title: 'morpho-midnight positions',
          complete(reader, work) {
            const stream = createLifeStream(createPositionReader({ ...connect(), deployments: settings }))
            return reader.complete({ stream, target }, work)
          },
        },
      ]
    }),
})
