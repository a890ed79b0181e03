import { createWork } from '../../lib/async/work.ts'
import type { Change } from '../route/change.ts'
import type { FreeRoute, Identity, Route } from '../route/route.ts'

const BUDGET_MS = 5_000
/** Stands in the place of a caller's key. */
const NO_KEY = 'session'

/** Returns the organization of a session. Throws for the operator. */
export function getSignedInOrganization({ organizationId }: Identity): string {
  if (organizationId === null) throw new Error('Cannot read the organization: the operator is signed in')
  return organizationId
}

/** Makes a change of an organization, free of charge; returns its result. Throws the change's own refusal. */
export type ApplyChange = (organizationId: string, change: Change) => Promise<unknown>

/** Converts a charged route to a free one of a plane: the same work for the signed-in organization. */
export function signedInRoute(
  route: Route,
  { path, applyChange }: { readonly path: string; readonly applyChange: ApplyChange },
): FreeRoute {
  const { method, summary, input, body, output, errors = [] } = route
  return {
    method,
    path,
    summary,
    input,
    output,
    ...(body === undefined ? {} : { body }),
    errors: errors.filter((each) => each === 404),
    async accept(request) {
      const call = (await route.accept(request)).call()
      return async ({ identity, clock, nowMs, url }) => {
        const organizationId = getSignedInOrganization(identity)
        const context = {
          work: createWork(clock.timeout(call.budgetMs ?? BUDGET_MS)),
          untilMs: Number.POSITIVE_INFINITY,
          organizationId,
          apiKeyId: NO_KEY,
          requestedAtMs: nowMs,
        }
        if (call.prepare === undefined) return (await call.read(context)).present({ url })
        const { change, present } = await call.prepare(context)
        return present(await applyChange(organizationId, change))
      }
    },
  }
}
