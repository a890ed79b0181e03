import * as v from 'valibot'
import { address, defineFamily, startBlock } from '../../../../src/family/contract.ts'
import { createEventReader } from '../../../../src/family/lending/read_events.ts'
import { CodedError } from '../../../../src/lib/error.ts'
import { once } from '../../../../src/lib/memoize.ts'
import { APPRAISALS, readAppraisals } from './read/appraisals.ts'
import { createLoanStream, toTarget } from './read/loans.ts'
import { createRoutes } from './routes/routes.ts'
import type { PawnshopDeployment } from './table/deployments.ts'

/** A lending protocol that does not exist: this folder, its migration, and a line in the list of families. */
export const PAWNSHOP = defineFamily({
  name: 'pawnshop',
  aliases: ['lending_p'],
  network: 'evm',
  entries: { pawnshop: v.optional(v.strictObject({ shop: address, startBlock })) },
  builtIn: new Map<number, PawnshopDeployment>(),
  getSetting: ({ pawnshop }) => pawnshop,
  routes({ settings, connect }) {
    return createRoutes({
      chainIds: [...settings.keys()],
      shopOn(chainId) {
        const [client, deployment] = [connect().clients.get(chainId), settings.get(chainId)]
        if (client === undefined || deployment === undefined) {
          throw new CodedError('API_ENDPOINT_NOT_CONFIGURED', 'No chain with a pawnshop is configured')
        }
        return { client, deployment }
      },
      events: once(() => createEventReader({ ...connect(), stream: createLoanStream(connect()) })),
      appraisals: (of, work) => readAppraisals(connect(), of, work),
    })
  },
  histories({ settings, connect }) {
    return [...settings].flatMap(([chainId, deployment]) => {
      const place = toTarget(chainId, deployment)
      return [
        {
          chainId,
          title: 'pawnshop loans',
          complete: (reader, work) => reader.complete({ stream: createLoanStream(connect()), target: place }, work),
        },
        {
          chainId,
          title: 'pawnshop appraisals',
          complete: (reader, work) => reader.complete({ stream: APPRAISALS, target: place }, work),
        },
      ]
    })
  },
})
