import { SOLANA_CHAIN_ID } from '../../chain/solana/client.ts'
import { KAMINO_MAINNET } from '../../finance/price/table/kamino.ts'
import { once } from '../../lib/once_each.ts'
import { defineFamily } from '../family.ts'
import { kaminoEntries } from '../setting.ts'
import { createObligationReader } from './read/read.ts'
import { createRoutes } from './routes.ts'

/** Kamino Lend: yield and risk of one obligation. Without Solana its routes answer `API_ENDPOINT_NOT_CONFIGURED`. */
export const KAMINO = defineFamily({
  name: 'kamino',
  aliases: ['lending_c'],
  network: 'solana',
  entries: kaminoEntries,
  builtIn: new Map([[SOLANA_CHAIN_ID, KAMINO_MAINNET]]),
  settingOf: ({ klendProgram, scopeProgram }, builtIn = KAMINO_MAINNET) => ({
    programId: klendProgram ?? builtIn.programId,
    scopeProgramId: scopeProgram ?? builtIn.scopeProgramId,
  }),
  routes({ settings, connect }) {
    const deployment = settings.get(SOLANA_CHAIN_ID)
    const reader = once(() => {
      const { solana, clock, log } = connect()
      if (solana === undefined || deployment === undefined) return undefined
      return createObligationReader({ solana, program: deployment, clock, log })
    })
    return createRoutes(reader)
  },
})
