import { SOLANA_CHAIN_ID } from '../../chain/solana/client.ts'
import { createPriceMarket, type PriceMarketRow } from '../../finance/price/table/kamino.ts'
import { once } from '../../lib/memoize.ts'
import { defineFamily, type FamilyServices, kaminoEntries } from '../contract.ts'
import { requireReader } from '../moment.ts'
import { createKaminoReader } from './read/read.ts'
import { listRoutes } from './routes/list.ts'
import { obligationRoutes } from './routes/obligation.ts'
import { WATCHABLE } from './routes/watch.ts'
import { mergeMarkets } from './table.ts'
import { createWatcher } from './watch.ts'

const BUILT_IN = toSetting({})

/**
 * Kamino Lend: obligations of wallets, and yield and risk of one obligation. Without Solana its routes answer
 * `API_ENDPOINT_NOT_CONFIGURED`.
 */
export const KAMINO = defineFamily({
  name: 'kamino',
  aliases: ['lending_c'],
  network: 'solana',
  revision: 4,
  entries: kaminoEntries,
  builtIn: new Map([[SOLANA_CHAIN_ID, BUILT_IN]]),
  getSetting: toSetting,
  accountHoldings: ({ settings, connect }) => createReader(settings, connect())?.holdings,
  watch: ({ settings, connect }) => ({
    ...WATCHABLE,
    accountWatcher() {
      const services = connect()
      const reader = createReader(settings, services)
      return reader && services.solana && createWatcher(reader, services.solana)
    },
  }),
  routes({ settings, connect }) {
    const reader = once(() => requireReader(createReader(settings, connect()), 'Kamino'))
    return [...listRoutes(reader), ...obligationRoutes(reader)]
  },
})

/** Converts a row of the chains file to the reader's settings: program, markets to search, market for prices. */
function toSetting(row: PriceMarketRow) {
  const { market, kamino } = createPriceMarket(row)
  return { program: kamino, rows: mergeMarkets(row.kaminoMarkets ?? []), market }
}

function createReader(settings: ReadonlyMap<number, typeof BUILT_IN>, { solana, clock, log }: FamilyServices) {
  const setting = settings.get(SOLANA_CHAIN_ID)
  return solana === undefined || setting === undefined
    ? undefined
    : createKaminoReader({ solana, ...setting, clock, log })
}
