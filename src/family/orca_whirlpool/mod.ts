import * as v from 'valibot'
import { SOLANA_CHAIN_ID } from '../../chain/solana/client.ts'
import { KAMINO_MAIN, KAMINO_MAINNET, type KaminoMarket, type KaminoProgram } from '../../finance/price/table/kamino.ts'
import { once } from '../../lib/once_each.ts'
import { defineFamily } from '../family.ts'
import { kaminoEntries, program } from '../setting.ts'
import { createOrcaReader } from './read/read.ts'
import { listRoute } from './routes/list.ts'
import { positionRoute } from './routes/position.ts'
import { WHIRLPOOL_PROGRAMS } from './table/programs.ts'

/** Where positions are, and where prices come from. */
interface OrcaSetting {
  readonly programs: readonly string[]
  readonly market: KaminoMarket
  readonly kamino: KaminoProgram
}

const BUILT_IN: OrcaSetting = { programs: WHIRLPOOL_PROGRAMS, market: KAMINO_MAIN, kamino: KAMINO_MAINNET }

/** Orca: liquidity positions of a wallet on Solana. Without Solana its routes answer `API_ENDPOINT_NOT_CONFIGURED`. */
export const ORCA_WHIRLPOOL = defineFamily({
  name: 'orca-whirlpool',
  aliases: ['orca', 'whirlpools'],
  network: 'solana',
  entries: { whirlpoolPrograms: v.optional(v.array(program)), ...kaminoEntries },
  builtIn: new Map([[SOLANA_CHAIN_ID, BUILT_IN]]),
  settingOf: ({ whirlpoolPrograms = [], kaminoMarkets = [], klendProgram, scopeProgram }): OrcaSetting => {
    const main = kaminoMarkets.filter(({ market }) => market === KAMINO_MAIN.market)
    const reserves = [...KAMINO_MAIN.reserves, ...main.flatMap((row) => row.reserves)]
    return {
      programs: [...new Set([...WHIRLPOOL_PROGRAMS, ...whirlpoolPrograms])],
      market: { ...KAMINO_MAIN, reserves: [...new Set(reserves)] },
      kamino: {
        programId: klendProgram ?? KAMINO_MAINNET.programId,
        scopeProgramId: scopeProgram ?? KAMINO_MAINNET.scopeProgramId,
      },
    }
  },
  routes({ settings, connect }) {
    const setting = settings.get(SOLANA_CHAIN_ID)
    const reader = once(() => {
      const { solana, clock } = connect()
      return solana === undefined || setting === undefined ? undefined : createOrcaReader({ solana, ...setting, clock })
    })
    return [listRoute(reader), positionRoute(reader)]
  },
})
