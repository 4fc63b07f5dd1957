import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { aProject } from '../support/a-project.ts'
import { drawbridge } from '../support/run-cli.ts'

const api = `openapi: 3.0.3
info: { title: Pet Shop, version: 1.0.0 }
paths:
  /pets:
    get: { operationId: listPets, responses: { '200': { description: ok } } }
    delete: { operationId: freePets, responses: { '204': { description: gone } } }
`

const aShop = () =>
  aProject({ 'api.yaml': api, 'old.yaml': 'swagger: "1.2"\n', 'agent.yaml': 'mine\n' })

describe('drawbridge import openapi', () => {
  test('prints a draft, and the number of places to review', async () => {
    const cwd = await aShop()

    const { code, stdout, stderr } = await drawbridge(['import', 'openapi', 'api.yaml'], { cwd })

    expect(code).toBe(0)
    expect(stdout).toMatch(/^# A draft from OpenAPI 3\.0\.3/)
    expect(stdout).toMatch(
      /- id: free-pets\n.*# review: guessed from DELETE\.\n.*side_effect_level: high/s,
    )
    expect(stderr).toMatch(/^2 capabilities, \d+ places to review\.\n$/)
  })

  test('--out does not overwrite an existing file without --force', async () => {
    const cwd = await aShop()
    const { stdout: draft } = await drawbridge(['import', 'openapi', 'api.yaml'], { cwd })
    const args = ['import', 'openapi', 'api.yaml', '--out', 'agent.yaml']
    const readManifest = () => readFile(path.join(cwd, 'agent.yaml'), 'utf8')

    const withoutForce = await drawbridge(args, { cwd })
    expect(withoutForce).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(/--force/),
    })
    expect(await readManifest()).toBe('mine\n')

    const withForce = await drawbridge([...args, '--force'], { cwd })
    expect(withForce).toMatchObject({ code: 0, stdout: '' })
    expect(await readManifest()).toBe(draft)
  })

  test('--json prints the manifest and the review items with ids', async () => {
    const cwd = await aShop()

    const { stdout } = await drawbridge(['import', 'openapi', 'api.yaml', '--json'], { cwd })

    const { manifest, reviews } = JSON.parse(stdout)
    expect(manifest).toMatchObject({ identity: { id: 'pet-shop' } })
    expect(reviews[0]).toEqual({ id: '1', path: '/identity/id', message: expect.any(String) })
  })

  test.each([
    ['old.yaml', /old\.yaml:1:1 .*Swagger/],
    ['nowhere.yaml', /nowhere\.yaml does not exist/],
  ])('exits with 2 and prints one line for %s', async (file, message) => {
    const { code, stdout, stderr } = await drawbridge(['import', 'openapi', file], {
      cwd: await aShop(),
    })

    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr.trim().split('\n')).toEqual([expect.stringMatching(message)])
  })

  test('an unknown format is refused with a list of the known ones', async () => {
    const { code, stderr } = await drawbridge(['import', 'raml', 'api.yaml'], {
      cwd: await aShop(),
    })

    expect(code).toBe(2)
    expect(stderr).toMatch(/raml.*openapi/)
  })
})
