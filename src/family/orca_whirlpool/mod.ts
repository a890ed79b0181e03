import * as v from 'valibot'
import { SOLANA_CHAIN_ID } from '../../chain/solana/client.ts'
import { createPriceMarket } from '../../finance/price/table/kamino.ts'
import { once } from '../../lib/memoize.ts'
import { defineFamily, type FamilyServices, kaminoEntries, program } from '../contract.ts'
import { requireReader } from '../moment.ts'
import { createOrcaReader } from './read/read.ts'
import { listRoute, positionRoute } from './routes.ts'
import { WHIRLPOOL_PROGRAMS } from './table.ts'

/** Built-in settings: the programs that hold positions, and the sources of prices. */
const BUILT_IN = { programs: WHIRLPOOL_PROGRAMS, ...createPriceMarket() }

/** Orca: liquidity positions of a wallet on Solana. Without Solana its routes answer `API_ENDPOINT_NOT_CONFIGURED`. */
export const ORCA_WHIRLPOOL = defineFamily({
  name: 'orca-whirlpool',
  aliases: ['orca', 'whirlpools'],
  network: 'solana',
  entries: { whirlpoolPrograms: v.optional(v.array(program)), ...kaminoEntries },
  builtIn: new Map([[SOLANA_CHAIN_ID, BUILT_IN]]),
  getSetting: ({ whirlpoolPrograms = [], ...row }) => ({
    programs: [...new Set([...WHIRLPOOL_PROGRAMS, ...whirlpoolPrograms])],
    ...createPriceMarket(row),
  }),
  accountHoldings: ({ settings, connect }) => createReader(settings, connect())?.holdings,
  routes({ settings, connect }) {
    const reader = once(() => requireReader(createReader(settings, connect()), 'Orca'))
    return [listRoute(reader), positionRoute(reader)]
  },
})

function createReader(settings: ReadonlyMap<number, typeof BUILT_IN>, { solana, clock }: FamilyServices) {
  const setting = settings.get(SOLANA_CHAIN_ID)
  return solana === undefined || setting === undefined ? undefined : createOrcaReader({ solana, ...setting, clock })
}
