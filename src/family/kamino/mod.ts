import { SOLANA_CHAIN_ID } from '../../chain/solana/client.ts'
import { KAMINO_MAINNET, type KaminoMarket, type KaminoProgram } from '../../finance/price/table/kamino.ts'
import { once } from '../../lib/once_each.ts'
import { defineFamily } from '../family.ts'
import { kaminoEntries } from '../setting.ts'
import { createKaminoReader } from './read/read.ts'
import { batchRoute } from './routes/batch.ts'
import { listRoute } from './routes/list.ts'
import { obligationRoutes } from './routes/obligation.ts'
import { withMarkets } from './table/markets.ts'

/** Where obligations are, and in which markets they are looked for if no endpoint can search. */
interface KaminoSetting {
  readonly program: KaminoProgram
  readonly rows: readonly KaminoMarket[]
}

const BUILT_IN: KaminoSetting = { program: KAMINO_MAINNET, rows: withMarkets([]) }

/** Kamino Lend: obligations of wallets, yield and risk of one. Without Solana its routes answer `API_ENDPOINT_NOT_CONFIGURED`. */
export const KAMINO = defineFamily({
  name: 'kamino',
  aliases: ['lending_c'],
  network: 'solana',
  entries: kaminoEntries,
  builtIn: new Map([[SOLANA_CHAIN_ID, BUILT_IN]]),
  settingOf: ({ klendProgram, scopeProgram, kaminoMarkets = [] }): KaminoSetting => ({
    program: {
      programId: klendProgram ?? KAMINO_MAINNET.programId,
      scopeProgramId: scopeProgram ?? KAMINO_MAINNET.scopeProgramId,
    },
    rows: withMarkets(kaminoMarkets),
  }),
  routes({ settings, connect }) {
    const setting = settings.get(SOLANA_CHAIN_ID)
    const reader = once(() => {
      const { solana, clock, log } = connect()
      if (solana === undefined || setting === undefined) return undefined
      return createKaminoReader({ solana, ...setting, clock, log })
    })
    return [listRoute(reader), batchRoute(reader), ...obligationRoutes(reader)]
  },
})
