import * as v from 'valibot'
import {
  createOrganization,
  listOrganizations,
  RATE_LIMIT_MAX,
  readOrganization,
  setOrganizationState,
  TRIGGER_LIMIT_MAX,
  updateOrganization,
} from '../../account/organization.ts'
import type { Database } from '../../db/database.ts'
import { dataOutput, idParameter, integerBetween, label, listOutput, pageEntries } from '../../http/request/schema.ts'
import { createPagination } from '../../http/route/page.ts'
import { defineRoute, type FreeRoute } from '../../http/route/route.ts'
import { CodedError } from '../../lib/error.ts'
import { ADMIN_PREFIX, toActor } from '../access.ts'
import { fundedOrganizationSchema, organizationSchema } from '../schema.ts'

const NAME_MAX = 100
const byId = v.object({ organization_id: idParameter })
const name = label(NAME_MAX)
const limits = {
  rate_limit: v.optional(integerBetween(1, RATE_LIMIT_MAX)),
  trigger_limit: v.optional(integerBetween(0, TRIGGER_LIMIT_MAX)),
}

/** Routes for organizations: create, list, read, rename, limit, suspend, restore, delete. */
export function organizationRoutes(db: Database): readonly FreeRoute[] {
  const path = `${ADMIN_PREFIX}/organizations`
  const list = defineRoute({
    method: 'GET',
    path,
    summary: 'Organizations that are not deleted, oldest first, with their credits.',
    input: v.object(pageEntries),
    output: listOutput(fundedOrganizationSchema),
    async act({ page, limit }, { url }) {
      const { items, total } = await listOrganizations(db, { page, limit })
      return { data: items, pagination: createPagination({ page, limit, total, url }) }
    },
  })
  const create = defineRoute({
    method: 'POST',
    path,
    summary: 'Create an organization, without credits or keys.',
    status: 201,
    input: v.object({}),
    body: v.strictObject({ name, ...limits }),
    output: dataOutput(organizationSchema),
    async act(input, { identity }) {
      const organization = await createOrganization(db, {
        name: input.name,
        rateLimit: input.rate_limit,
        triggerLimit: input.trigger_limit,
        by: toActor(identity),
      })
      return { data: organization }
    },
  })
  const read = defineRoute({
    method: 'GET',
    path: `${path}/:organization_id`,
    summary: 'One organization with its credits.',
    input: byId,
    output: dataOutput(fundedOrganizationSchema),
    errors: [404],
    async act({ organization_id: organizationId }) {
      return { data: await readOrganization(db, organizationId) }
    },
  })
  const update = defineRoute({
    method: 'PATCH',
    path: `${path}/:organization_id`,
    summary: 'Rename an organization, or set how many requests a second and how many triggers it may have.',
    input: byId,
    body: v.strictObject({ name: v.optional(name), ...limits }),
    output: dataOutput(organizationSchema),
    errors: [404],
    async act(input, { identity }) {
      if ([input.name, input.rate_limit, input.trigger_limit].every((each) => each === undefined)) {
        throw new CodedError(
          'MISSING_PARAMETER',
          'Cannot change the organization: expected name, rate_limit or trigger_limit',
        )
      }
      const organization = await updateOrganization(db, {
        id: input.organization_id,
        name: input.name,
        rateLimit: input.rate_limit,
        triggerLimit: input.trigger_limit,
        by: toActor(identity),
      })
      return { data: organization }
    },
  })
  const change = (verb: 'suspend' | 'restore' | 'delete', summary: string) =>
    defineRoute({
      method: verb === 'delete' ? 'DELETE' : 'POST',
      path: verb === 'delete' ? `${path}/:organization_id` : `${path}/:organization_id/${verb}`,
      summary,
      input: byId,
      output: dataOutput(organizationSchema),
      errors: [404],
      async act({ organization_id: organizationId }, { identity }) {
        return { data: await setOrganizationState(db, verb, { id: organizationId, by: toActor(identity) }) }
      },
    })
  return [
    ...[list, create, read, update],
    change('suspend', 'Refuse every call of an organization from the next one on. Idempotent.'),
    change('restore', 'Let the keys and credits of a suspended organization work again. Idempotent.'),
    change('delete', 'Delete an organization for good; its log stays.'),
  ]
}
