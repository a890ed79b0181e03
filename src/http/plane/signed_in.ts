import { timeoutSignal } from '../../lib/async/abort.ts'
import type { FreeRoute, Identity, Route } from '../route/route.ts'

const BUDGET_MS = 5_000
/** Stands for the key that callers have. */
const NO_KEY = 'session'

/** The organization that is signed in. */
export function getSignedInOrganization({ organizationId }: Identity): string {
  if (organizationId === null) throw new Error('Cannot tell which organization is signed in')
  return organizationId
}

/** A route of callers on a plane: the same work for the organization that is signed in, and for nothing. */
export function signedInRoute(route: Route, path: string): FreeRoute {
  const { method, summary, input, body, output, errors = [] } = route
  return {
    method,
    path,
    summary,
    input,
    output,
    ...(body === undefined ? {} : { body }),
    errors: errors.filter((each) => each === 404),
    async accept(asked) {
      const call = (await route.accept(asked)).call()
      return async ({ identity, nowMs, url }) => {
        const answer = await call.read({
          signal: timeoutSignal(call.budgetMs ?? BUDGET_MS),
          untilMs: Number.POSITIVE_INFINITY,
          organizationId: getSignedInOrganization(identity),
          apiKeyId: NO_KEY,
          requestedAtMs: nowMs,
        })
        return answer.present({ url })
      }
    },
  }
}
