import type { FreeRoute, Identity, Route } from '../route/route.ts'

const BUDGET_MS = 5_000
/** Stands in the place of a caller's key. */
const NO_KEY = 'session'

/** Returns the organization of a session. Throws for the operator. */
export function getSignedInOrganization({ organizationId }: Identity): string {
  if (organizationId === null) throw new Error('Cannot read the organization: the operator is signed in')
  return organizationId
}

/** Converts a charged route to a free one of a plane: the same work for the signed-in organization. */
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
    async accept(request) {
      const call = (await route.accept(request)).call()
      return async ({ identity, clock, nowMs, url }) => {
        const answer = await call.read({
          signal: clock.timeout(call.budgetMs ?? BUDGET_MS),
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
