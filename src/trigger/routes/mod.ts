import type { Watched } from '../../family/family.ts'
import type { Route } from '../../http/route/route.ts'
import { eventsRoute } from './events.ts'
import type { TriggerServices } from './route_parts.ts'
import { triggerRoutes } from './triggers.ts'
import { webhookRoutes } from './webhooks.ts'

/** All routes of triggers, webhooks and their messages. They call `services` when they first read. */
export function messagingRoutes(
  services: () => TriggerServices,
  watched: { readonly families: readonly Watched[]; readonly solanaChainId: number },
): readonly Route[] {
  return [...triggerRoutes(services, watched), ...webhookRoutes(services), eventsRoute(services)]
}
