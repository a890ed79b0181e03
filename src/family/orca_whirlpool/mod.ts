import * as v from 'valibot'
import { SOLANA_CHAIN_ID } from '../../chain/solana/client.ts'
import { createPriceMarket } from '../../finance/price/table/kamino.ts'
import { defineFamily, kaminoEntries, program } from '../contract.ts'
import { serveAccountProtocol } from '../liquidity/mod.ts'
import { createAccountWatchable } from '../liquidity/watchable.ts'
import { PROTOCOL } from './protocol.ts'
import { createOrcaReader } from './read/read.ts'
import { WHIRLPOOL_PROGRAMS } from './table.ts'
import { createWatcher } from './watch.ts'

/** Built-in settings: the programs that hold positions, and the sources of prices. */
const BUILT_IN = { programs: WHIRLPOOL_PROGRAMS, ...createPriceMarket() }

/** Orca: liquidity positions of a wallet on Solana. */
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
  watch: ({ settings, connect }) => ({
    ...createAccountWatchable(PROTOCOL),
    accountWatcher() {
      const { solana, clock } = connect()
      const setting = settings.get(SOLANA_CHAIN_ID)
      return solana && setting && createWatcher(createOrcaReader({ solana, clock, ...setting }), solana)
    },
  }),
  ...serveAccountProtocol(PROTOCOL),
})
