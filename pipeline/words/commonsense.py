"""What everyday things can do, carry, wear and look like, at the level of kinds of things: the knowledge that stands behind
counts where a vocabulary has seen too little to tell (`pipeline/perturbing/plausible.py`).

The types and values of looks are GQA's; which of them, and which relations, go with which kinds is our own judgement. Lists
are written as in `things.listed`. What no row allows is not known to be possible; counts may say otherwise.
"""

from __future__ import annotations

from itertools import chain

from pipeline.words.relations import plain_relation
from pipeline.words.things import Listed, listed

# Lists that several rows share.
_LISTS = {
    "WORN": "garment, -collar, headwear, eyewear, jewelry, backpack, headphones, ski",
    # What stands in rooms, and what stands in the open.
    "INDOORS": "bathware, appliance, drapery, storage, bed, couch, lamp, chandelier, television, computer, keyboard,"
    " monitor, pillow, blanket, coffee table, desk, nightstand, toilet paper, dish, cutlery, napkin",
    "OUTDOORS": "tree, aircraft, watercraft, train, car, vehicle, post, traffic light, building, rock, mountain, hill,"
    " elephant, giraffe, zebra, cow, horse, sheep, bear, surfboard, ski, snowboard, palm",
    # What is large enough to stand before, and to hide, something else.
    "LARGE": "person, animal, -bird, -insect, seat, tabletop, storage, bathware, appliance, fireplace, mirror, drapery,"
    " television, suitcase, luggage, sign, bike, watercraft, aircraft, train, car, vehicle, building, opening, post, tree,"
    " bush, fence, net, rock, fountain, umbrella, statue, trash can, surfboard, plant, -grass, -flower, -paddle",
    # What one can point at, so that other things have a place beside it. Not the ground, nor what is worn.
    "SOLID": "person, plush, animal, baggage, edible, -stuffing, drinkable, dish, cutlery, receptacle, seat, tabletop,"
    " storage, bathware, appliance, light, furniture, handheld, device, linen, -rug, -carpet, -mat, drapery, paper, picture, sign,"
    " instrument, paddle, ball, board, tool, bike, watercraft, aircraft, train, car, vehicle, building, opening, post,"
    " tree, flora, -grass, -herb, -leaf, -sauce, -cheese, rock, helmet, hat, fence, mountain, fountain, -toilet paper, -rope, -wire, -power line",
    "CARRIED": "baggage, edible, -sauce, -stuffing, drinkable, dish, cutlery, receptacle, -trash can, handheld, laptop, paper, instrument,"
    " paddle, ball, board, tool, plush, flower, bouquet, rope, sign, -traffic sign, baby, puppy, kitten, cat, helmet,"
    " hat, pillow, blanket, towel, balloon, camera, remote control, mouse, keyboard, plant, leaf, rock, headphones",
    "SMALL": "edible, dish, cutlery, receptacle, -trash can, handheld, device, light, paper, flower, plush, tool,"
    " -umbrella, drinkable, ball, eyewear, jewelry, purse, bag, headphones, hat, plant, -tree, -grass, linen, -rug, -carpet, candle,"
    " picture, sign, helmet, glove, camera, cat, statue",
}

# relation | subjects | objects. A verb without preposition restricts who does it, whatever its preposition; that it is
# "on" or "in" something must be possible as well, where the whole has no row of its own.
_RELATIONS = """
wearing | person, plush | WORN
wearing | dog, horse | collar, hat, tie, scarf, saddle, harness, sweater, costume, bandana, bow tie, headband, name tag, vest
holding | person | CARRIED
holding | statue, teddy bear | flower, ball, sign, umbrella, sword, heart
carrying | person | CARRIED, surfboard
carrying | horse, elephant, donkey, camel | person, baggage
carrying | car, train, watercraft, vehicle | person, baggage, log, receptacle, bike, hay
swinging | person | paddle, rope
throwing, catching, tossing | person | ball, -kite, -balloon
throwing, catching, tossing | dog | frisbee, ball
hitting, kicking, bouncing | person | ball, -kite, -frisbee, -balloon
flying | person | kite
flying | bird, insect, aircraft, kite, balloon, flag |
playing | person | instrument, tennis, baseball, soccer, frisbee, game, wii, video game, basketball, guitar
playing with | person, animal | ball, plush, animal, handheld, frisbee
playing | animal, -fish |
using | person | handheld, device, tool, cutlery, laptop, bathware, appliance
eating | person | edible
eating | animal | edible, grass, hay, leaf, plant, flower, branch, tree, food
drinking | person | drinkable
drinking | animal | water, milk
cutting | person | edible, paper, hair, grass, tree, rope
cooking, preparing | person | edible
serving | person | edible, drinkable
reading | person | paper, sign
feeding, petting | person | animal, -insect, -fish, baby
hugging, kissing | person | person, plush, dog, cat
watching, looking at, facing | person, animal | person, animal, television, screen, monitor, laptop, phone, handheld, paper, aircraft, train, ball, board, picture, water, kite, clock, edible, mirror, camera, bird
talking to | person | person
talking on | person | phone
riding | person | bike, horse, elephant, donkey, camel, board, wave, train, bus, cart, scooter, ski lift, cow
riding on | person, animal | bike, board, horse, elephant, train, bus, cart, truck, watercraft, wave
driving | person | car, train, cart, bike
pulling | person, car, horse, ox, donkey, dog, train, animal | vehicle, cart, suitcase, luggage, baggage, train car, rope, sled, carriage
pushing | person | vehicle, cart, stroller, bike, baggage
sitting, kneeling, resting, lying, sleeping, standing, walking, running, jumping, waiting, posing, crouching, leaning | person, animal, plush |
playing, dancing, skateboarding, surfing, skiing, snowboarding, talking, performing, riding, working | person |
grazing | animal, -bird, -dog, -cat, -fish, -insect |
swimming | person, animal |
parked | car, bike, train, watercraft, aircraft, vehicle |
driving, traveling, moving | car, bike, train, vehicle, person |
growing | tree, flora, grass |
floating | watercraft, bird, board, log, balloon, cloud |
hanging | light, drapery, picture, sign, garment, headwear, baggage, towel, clock, leaf, fan, telephone, branch, cutlery, pan, vine, monkey |
sitting on, resting on | person, animal, plush | seat, steps, stairs, step, surface, tabletop, board, bike, horse, elephant, watercraft, rug, blanket, rock, landform, grass, sand, fence, wall, log, suitcase, pillow, car, cushion, deck, platform, dock
sitting on | bird | branch, tree, fence, wire, post, roofing, water, rock, seat, tabletop, wall
sitting on, resting on | dish, receptacle, device, light, edible -sauce, paper, baggage | tabletop, storage, appliance, seat
sitting in | person, animal, plush | seat, car, watercraft, grass, room, sand, snow, train, bus, vehicle, sink, box, basket, baggage, water
walking on, running on, walking along, walking down | person, animal | surface, landform, bridge, rug, water
driving on, parked on, traveling on, driving down | car, bike, vehicle -watercraft -aircraft -train | surface -steps -stairs -carpet -floor -hay -tile, bridge
standing on | person, animal | board, surface, landform, seat, tabletop, rock, rug, bike, platform, stairs, watercraft, roofing, fence, branch, wall, ladder, beach
standing in | person, animal, building, tree | water, surface, -steps, -stairs, place, field, grass, opening, -window, landform, tree
lying on, sleeping on | person, animal, plush | seat, surface, rug, blanket, pillow, landform, linen, tabletop, laptop, keyboard, board, car, sidewalk, baggage
lying in | person, animal | seat, grass, sand, snow, sink, field, box, basket, hay, dirt, mud
covered in, covered with, covered by | landform, tree, roofing, building, surface, -snow, car, seat, tabletop, bench, rock | snow, ice, grass, leaf, tree, sand, dirt, blanket
covered in, covered with, covered by | edible | sauce, cheese, stuffing, chocolate, sugar
covering | snow, ice, leaf, grass, blanket, sheet, tablecloth, cloud | surface, -snow, -grass, landform, seat, tabletop, tree, roofing, sky
surrounding, surrounded by | fence, tree, wall, grass, water, building, person | building, field, person, animal, water, place, flora, tree, statue
filled with, full of, contain, containing | receptacle, dish, baggage, refrigerator, sink | edible, drinkable, water, flower, fruit, ice
filled with, full of, contain, containing | shelf, bookcase, bookshelf, storage | paper, dish, receptacle
crossing | person, animal, car, bike, train | road, street, crosswalk, river, bridge, railroad, train tracks
entering, exiting | person, animal, train, bus | building, train, bus, water, room, door, tunnel, station
attached to, mounted on, hung on | picture, sign, light, clock, mirror, cabinet, shelf, fan, toilet paper, television, speaker, cable | wall, post, building, roofing, device, appliance
on | SMALL -sauce, dish, edible -sauce -stuffing, receptacle, laptop, instrument, animal -horse | tabletop, storage, -drawer, -closet, stove, appliance, tray
on | edible | dish, -mug, -glass, pizza, sandwich, burger, hot dog, bun, bread, salad, grill, pan, napkin, tree, cutlery, stove
on | fruit, nut, chocolate | cake, cupcake
on | stuffing, cheese, sauce | edible -sauce -soup -broth -drinkable, dish, -mug
on | cutlery | dish, napkin, place mat
on | candle, number, letters, decoration, flower | cake, cupcake
on | person | seat, bike, horse, elephant, camel, donkey, board, watercraft, surface, -parking lot, landform, rug, train, bus, platform, stairs, blanket, rock, toilet, wave, ski lift
on | animal, -giraffe, -zebra, -elephant | seat, rug, blanket, pillow, car, laptop, linen, rock
on | animal | surface, landform, rock
on | bird, insect, monkey, squirrel | branch, tree, fence, wire, power line, post, roofing, water, rock, wall, statue, sign, building, flower, bench
on | dog, cat, monkey, person | board, bike, horse, watercraft
on | car, bike, vehicle -watercraft -aircraft -train | surface, -steps, -stairs, -carpet, bridge, landform, -mountain
on | train | train tracks, track, bridge, railroad, platform
on | watercraft, board, bird | water, beach, shore, sand
on | aircraft | runway, ground, grass, field, tarmac, pavement
on | picture, clock, light, mirror, shelf, sign, cabinet, fan, telephone, television, marking, graffiti, drapery, towel, tile, vine, decoration, outlet, speaker, screen | wall
on | sign, light, traffic light, flag, clock, bird, wire, sticker | post, building, tower
on | marking, picture, flower, sign, graffiti, zipper, number | garment, headwear, car, train, aircraft, watercraft, sign, building, board, ball, receptacle, paper, dish, wall, train car, door, clock, baggage, kite
on | clock | building
on | window, door, roof, sign, flag, chimney, balcony | building, train, car, aircraft, wall
on | magnet, picture, paper | refrigerator, door
on | linen, plush, baggage, laptop, paper, cat, dog, handheld | seat
on | WORN | person, seat, surface, -road, -street, -field, plush, rack, bed, tabletop, animal, shelf
on | bodypart | person, animal, plush
on | snow, ice | surface, -snow, landform, tree, roofing, car, seat, fence, building, rock, bench
on | leaf, fruit, flower | tree, branch, surface, flora, ground, grass
on | seat, tabletop, storage, furniture, light, appliance, receptacle, baggage, linen, board, rug, carpet, trash can, device, plush, shoe, ball, rock, post | surface, -road, -grass, -field, -street, -snow, -ice, patio, deck, dock, sidewalk, rug, beach, sand
on | seat, post, fence, building, ball, paddle, frisbee, trash can, umbrella, hose, hay, tent | grass, field, sidewalk, street, court, dirt
on | tree, house, building, fence, grass, rock, snow, animal, person, tower | hill, mountain, landform
on | umbrella, towel, seat, board, tent, shell, footprint, rock, kite | beach, sand
on | burner, pot, pan, kettle, tea pot, oven mitt | stove, oven
on | faucet, soap, towel, toothbrush, cup, soap dispenser, mirror | sink, counter
on | baggage, person | vehicle, cart, bus, train, truck, rack, bike
on | keyboard, computer mouse, device, monitor, lamp, paper, drinkable, handheld | tabletop, pad, mouse pad
in | WORN, person | mirror
in | person, animal | water, field, grass, room, snow, mud, sand, crowd, place, park, street, road, doorway, yard, pasture, dirt, forest, stadium
in | person | garment, -sock, -shoe, -glove, -belt, -tie, -scarf, car, -taxi, watercraft, seat, -stool, building, train, bus, aircraft, vehicle -bike -board, bed, opening, -gate
in | animal | basket, box, cage, sink, baggage, car, tree, barn, bathtub, bowl
in | edible, drinkable, stuffing, water | dish, -plate, receptacle, -trash can, refrigerator, oven, baggage, pan, microwave
in | cutlery | dish, -plate, edible, drawer, receptacle
in | flora -grass -leaf | receptacle -baggage, garden, vase, pot, field, yard, park, grass
in | tree, animal, fence, building, flower, rock, hay, car, tractor, truck, hose | field, grass, pasture, park, yard, farm, snow
in | cloud, bird, aircraft, kite, balloon, sun, moon, smoke, rainbow, helicopter | sky
in | watercraft, board, bird, rock, animal, wave, person, fish, log | water
in | paper, dish, receptacle, garment, linen, device, plush, decoration, clock | storage, -rack, -dresser
in | car, bike, vehicle -watercraft -aircraft -train, animal, person | street, road, parking lot, driveway, garage, traffic
in | seat, tabletop, storage, bathware, appliance, furniture, device, light, picture, plush, person, window, rug, paper, opening | room, kitchen, bathroom, bedroom, office, restaurant
in | animal, person, fence, tree, grass, rock, building | zoo, farm, park, city
in | trash | trash can, basket
in | ball, board, handheld, cigarette, paddle | hand, mouth
under, below | person, animal | umbrella, tree, tent, bridge, roofing, blanket, light
under, below | dog, cat | tabletop, seat, car
under, below | baggage, receptacle, shoe, seat, rug, box, ball, cat, dog, trash can, drawer | tabletop, bed, bench, seat, window, sink, umbrella
under, below | dish, napkin, place mat | edible, dish
under, below | car, bike, watercraft, train | bridge, tree, roofing, traffic light
under, below | SMALL, seat, storage, tabletop, bathware, bed, couch, towel | picture, window, mirror, shelf, cabinet, clock, light, television, sign
under, below | storage, trash can, toilet paper | sink, counter, tabletop
above | picture, clock, light, mirror, shelf, cabinet, sign, window, television, drapery, fan, microwave, towel, roofing | seat, tabletop, bathware, stove, oven, appliance, opening, fireplace, person, storage, device, linen
above | kite, bird, aircraft, balloon, cloud, sky, helicopter | water, building, tree, person, landform, surface, watercraft, field, car
above | umbrella, traffic light, tree, sign, bridge, roofing, ball, light | person, seat, car, tabletop, street, road, train, animal
hanging on, hanging from, hanging above | light, drapery, picture, sign, garment, headwear, baggage, towel, clock, leaf, fan, cutlery, pan, plant, flag, fruit, edible, bird, monkey | wall, roofing, tree, branch, rack, hook, door, post, refrigerator, stove, cabinet, shelf, fence, building, rope, seat
hanging over | light, drapery, branch, tree, towel, traffic light, sign | tabletop, seat, window, street, person, water, sink, bed, road, fence
near, to the left of, to the right of, between, beside | SOLID -INDOORS | SOLID -INDOORS
near, to the left of, to the right of, between, beside | SOLID -OUTDOORS | SOLID -OUTDOORS
near | SOLID, person, animal, building, tree | water, road, street, grass, wall, landform, beach, sidewalk, field, fence
in front of, behind | LARGE -INDOORS | LARGE -INDOORS, water, mountain, hill, railing, crowd
in front of, behind | LARGE -OUTDOORS, dish, receptacle, light, device, plush, linen | LARGE -OUTDOORS, dish, receptacle, laptop, light, plush, railing
in front of | LARGE | wall
behind | tree, mountain, hill, water, wall, sky, cloud | LARGE -INDOORS
behind | wall, window, drapery | LARGE -OUTDOORS
with | person, plush | WORN, CARRIED, bodypart
with | animal | bodypart, collar, saddle, leash
with | dish, receptacle, tabletop | edible, drinkable, flower, linen
with | edible | edible, stuffing
with | building, car, train, aircraft | window, door, roof, carpart, sign, marking
of | bodypart | person, animal, plush
of | collar, sleeve, pocket, zipper, hood | garment
of | leg, cushion, back, seat, drawer, door, top | seat, tabletop, storage, furniture, appliance
of, on | carpart, tail, wing, hood | car, train, aircraft, vehicle, bike
of | window, door, roof, wall, side | building, car, train, aircraft, vehicle
along, by, across, toward, through, around, down, up, past, over, into, onto, off | person, animal, car, bike, train, bird | surface, landform, water, place, bridge, road, opening, tunnel
against | person, board, bike, paddle, ladder | wall, fence, building, tree, railing, car, post, seat
"""

# type or look | things | values
_LOOKS = """
color | garment, headwear, eyewear, baggage, seat, linen, drapery, car, bike, -train, plush, ball, board, sign, umbrella, paddle, dish, receptacle, paper, kite, flower, rope, balloon, cutlery -straw, tool, vehicle, watercraft, train, aircraft, tent, helmet, instrument | *
color | building, wall, opening, tabletop, storage, post, fence, railing, picture, light, furniture, frame, barrier, handheld, jewelry, tile, roofing, appliance, device | black, white, brown, gray, red, blue, green, yellow, tan, beige, silver, gold, dark, light, dark brown, light brown, dark blue, light blue, cream colored, orange, pink
color | carpart | black, gray, silver, white, red, yellow, blue
color | bathware | white, gray, black, silver, beige, pink, blue, tan, brown
color | animal, -bird, -fish, -insect, -cow, -zebra, -elephant, -giraffe, -bear | black, white, brown, gray, tan, orange, dark, light brown, dark brown, beige, yellow, light
color | bird, fish, insect | black, white, brown, gray, red, blue, green, yellow, orange, tan, dark
color | cow, bear | black, white, brown, tan, dark brown, light brown
color | zebra, elephant, giraffe, sheep, goat | black, white, brown, gray, tan, dark brown
color | hair, fur, beard, mustache, mane, tail | black, brown, blond, gray, white, red, dark, light brown, dark brown, brunette, tan, dirty blond
color | fruit | red, green, yellow, orange, brown, purple
color | edible -greens -fruit, stuffing, drinkable | red, green, yellow, brown, orange, white, dark brown, light brown, dark, tan, golden, beige
color | greens | green, light green, dark green, yellow
color | sky, cloud, smoke | blue, gray, white, light blue, orange, pink, dark, dark blue, black
color | grass, field, lawn, pasture, leaf, tree, flora, bush, hill, mountain | green, brown, yellow, tan, dark green, light green, dry
color | leaf, tree, flora | red, orange
color | water | blue, green, gray, brown, dark, light blue, dark blue, white, teal
color | ground, dirt, mud, sand, road, street, sidewalk, pavement, path, walkway, gravel, rock, parking lot, steps, stairs, beach, crosswalk, driveway, runway, court, platform, deck, dock, patio, courtyard | gray, brown, tan, black, beige, dark, light brown, dark brown, dark gray, light gray
color | court, floor, carpet, tile, ceiling, roof | red, blue, green, brown, gray, white, tan, beige, black, yellow
color | snow, ice | white, gray
brunette, blond, dirty blond | hair, person |
material | seat, tabletop, storage, furniture, bench | wood, metal, plastic, glass, wicker, iron, steel, leather
material | chair, couch, stool | leather, cloth, fabric, wicker
material | bench | stone, concrete
material | fence, gate, railing, barrier | wood, metal, wire, iron, chain link, stone, brick, wrought iron, steel, concrete, plastic, mesh
material | building, wall, pillar, column, fireplace, chimney, bridge | brick, stone, concrete, wood, glass, metal, cement, marble, tile, steel, iron
material | floor -grass -field -sand -snow -dirt -road -street -sidewalk, tile, deck, stairs, steps, dock, platform | wood, tile, concrete, brick, stone, hardwood, marble, cement, metal, granite
material | sidewalk, street, road, path, walkway, pavement, ground, driveway, patio, courtyard | concrete, brick, stone, asphalt, cobblestone, cement, gravel, dirt, tile
material | counter, countertop, table | granite, marble, stone, tile, wood, metal, glass, plastic
material | garment, headwear, glove, shoe | leather, denim, cloth, cotton, wool, knit, fabric, silk, lace, rubber, fur
material | hat | straw, cloth, leather, knit, wool
material | helmet, eyewear | plastic, metal
material | baggage | leather, cloth, plastic, paper, fabric, canvas, denim
material | jewelry | gold, silver, metal, leather, plastic, rubber
material | dish, receptacle -bag, pan, cutlery | plastic, metal, glass, ceramic, porcelain, paper, wood, cardboard, steel, stainless steel, styrofoam, clay, wicker, silver
material | box, crate | wood, cardboard, plastic, metal
material | bathware | porcelain, metal, ceramic, marble, stainless steel, steel
material | appliance | metal, stainless steel, steel, plastic
material | light, picture, mirror, post, sign, tool, paddle, board, instrument, plush, opening, rack, frame, handheld, device, clock | wood, metal, plastic, glass, steel, iron, brass, concrete, stone, paper
material | car, bike, train, watercraft, aircraft, vehicle | metal, steel, wood, plastic, aluminum
material | linen, drapery, rope, flag, banner, umbrella | cloth, cotton, fabric, wool, plastic, leather, paper, lace, silk, knit
material | roofing | metal, wood, tile, brick, glass, straw, thatch
material | statue | stone, bronze, metal, wood, marble, concrete
pose | person | standing, sitting, walking, lying, crouching, jumping, kneeling, bending, resting, leaning, running, sleeping, posing, squatting, lying down, taking a picture, taking pictures
pose | animal -fish -bird | standing, sitting, walking, lying, resting, sleeping, running, jumping, bending, lying down
pose | plush | sitting, lying, standing
pose | bird | standing, sitting, flying, walking, perched, resting, swimming
activity | person | *
activity | animal, -insect | eating, drinking, playing, sleeping, walking, running, standing, resting, swimming, grazing, looking, staring, jumping, flying, waiting
sport, sportActivity | person | *
surfing, swimming | dog |
grazing | animal -bird -dog -cat |
flying | bird, aircraft, kite, insect |
parked, moving | car, bike, train, watercraft, aircraft, vehicle |
age | person | young
age | person -boy -girl -child | old, middle aged, adult
young, old, baby, adult | animal |
baby | elephant, child |
old, new, modern | building, car, bike, train, watercraft, aircraft, vehicle, furniture, seat, tabletop, storage, appliance, device, clock, fence, wall, shoe, baggage, sign, picture |
size | SOLID -person -drinkable -napkin -curtain, umbrella, hat, helmet, rock, flower, shelf, window, door, mirror, mountain, leaf, hill, carpet, rug, wave, kite, ear, nose, wheel, cloud, garden, pond, island, -pants, pillow | large, small, little, huge, giant, tiny
little, small | boy, girl, child, baby, animal |
large, small, little | bodypart -hair, spot, marking |
height | person, building, post, tree, grass, giraffe, light, fence, bottle, vase, glass, mountain, hill, refrigerator, cabinet, bookcase, shelf, tower, pillar, plant, wall, stool, horse | tall, short
short, long | hair, garment -hat, pants, skirt, dress, sleeve, drapery, shorts, tail, grass |
length, long | hair, tail, tabletop, bench, train, bus, neck, nose, rope, pole, dress, skirt, coat, bridge, pier, board, horn, trunk, drapery, scarf, tie, couch, hose, sausage, hot dog, carrot, sandwich | long, short
thickness | tree, book, fur, rope, hair, pizza, crust, blanket, forest, bush, wire, pole, branch, grass, board, slice | thick, thin
width | road, street, river, path, sidewalk, doorway, window, tie, walkway, hallway | wide, narrow
weight | baggage, receptacle, machine, equipment, coat, truck, traffic, blanket, curtain | heavy, light
fatness | person, animal | fat, thin, skinny
hardness | seat -bench, linen, plush, bread, floor, ground, pillow, surface, cheese, snow, hair, fur, cushion | soft, hard
soft | linen, plush, pillow, cushion, couch, hair, fur, snow, sand, blanket |
hard | ground, floor, seat, helmet, shell, surface, bench, court |
cleanliness | floor, garment, bathware, dish, tabletop, seat, linen, car, wall, opening, appliance, water, snow, shoe, animal -fish -insect, baggage, drapery, cutlery, counter, sink, stove | clean, dirty, stained, neat
state, wet, dry | ground, floor, -ice, grass, sand, hair, dog, person, towel, road, street, sidewalk, pavement, garment, leaf, dirt, beach, sidewalk, field | wet, dry
weather | sky | clear, cloudless, cloudy, stormy, sunny, overcast, partly cloudy, blue
cloudy, clear, overcast, sunny, cloudless | sky |
clear | water, glass, vase, bottle |
face expression | person | *
smiling, happy, sad, frowning, laughing, surprised, serious | person |
tone, dark, light | hair, floor, sky, wood, garment, wall, cloud, water, skin, tabletop, storage, car, building, rug, seat | dark, light
bright | sky, light, flower, garment, screen, sign |
shape | tabletop, dish, mirror, clock, sign, table, rug, window, picture, ball, pizza, cake, box, pillow, plate, tray, light, receptacle, opening, edible, building, eyewear, wheel, sink, watch, tile, rock | round, square, rectangular, octagonal, triangular, circular, oval, curved, rounded
rounded | dish, window, door, roof, table, counter, mirror, doorway, hilltop, sink |
pattern | garment, tie, drapery, linen, seat -bench, umbrella, wallpaper, headwear, dish, baggage, vase, dress | striped, dotted, checkered, plaid, floral, patterned, plain
race, gender | person | *
opaqness, company, event, texture, realism, brightness, flavor | * | *
sleeveless, long sleeved, short sleeved | shirt, dress, sweater, blouse, top, jacket, t-shirt, uniform |
open, closed, shut | door, window, umbrella, laptop, book, cabinet, drawer, drapery, box, toilet, mouth, gate, oven, refrigerator, jacket, baggage, bottle, eye |
on, off | light, device, television, screen, monitor, laptop, computer, stove, oven, candle, phone, headlight, appliance |
full, empty | dish, receptacle, seat, shelf, street, storage, vase, field, trash can, baggage, tabletop, cart, bus, train, parking lot |
ripe, unripe, peeled, unpeeled | fruit, vegetable |
sliced, whole, cut, chopped | fruit, vegetable, bread, cake, pizza, meat, sandwich, cheese |
cooked, raw | meat, egg, vegetable, edible -fruit |
curly, straight, wavy, bald | hair, mane, fur, tail |
shirtless, bald, barefoot, bare | person -woman -girl -mother -lady -female -daughter |
grassy, bare, lush | field, hill, ground, hillside, land, landform, lawn, pasture, area |
leafy, leafless, bare, green, lush | tree, branch, bush, forest |
folded, unfolded, wrinkled | towel, napkin, linen, umbrella, newspaper, clothing, shirt, paper |
folding | chair, table |
comfortable, uncomfortable | seat, linen, pillow, shoe |
cracked, rough, smooth, uneven, flat | floor, wall, road, street, sidewalk, rock, tree, water, ground, hill |
calm, wavy, choppy, still | water |
crowded | beach, street, room, sidewalk, bus, train, place |
covered | tabletop, dish, seat, surface, landform |
uncovered | dish, head |
colorful, plain | garment, linen, drapery, wall, umbrella, kite, sign, flower, baggage, bird, seat |
hanging | drapery, light, picture, garment, towel, clock, sign, flag, plant |
lit, unlit | candle, light, lamp, fireplace, cigarette, sign |
painted, unpainted, shiny, dull, sturdy, broken | fence, wall, door, seat, tabletop, floor, car, building, receptacle |
framed, unframed | picture, mirror |
stacked, scattered | paper, dish, receptacle, log, suitcase |
messy, tidy, neat | room, hair, seat, tabletop, bedroom, kitchen |
spotted, hairy, furry, fluffy, shaggy | animal -bird -fish, plush |
patterned | linen, garment, drapery, rug, wallpaper |
hposition | SOLID, wall, railing, flora, sign, mirror, bodypart, helmet, landform -beach -shore, mountain, hill | *
vposition | SOLID, wall, railing, flora, sign, mirror, bodypart, garment, headwear, landform, surface -parking lot, water -wave | *
"""

Rows = dict[str, list[tuple[Listed, Listed]]]


def _rows(table: str) -> Rows:
    rows: Rows = {}
    for line in table.strip().splitlines():
        heads, things, others = (_filled(part) for part in line.split("|"))
        for head in heads.split(","):
            rows.setdefault(head.strip(), []).append((listed(things), listed(others)))
    return rows


def _by_value(rows: Rows) -> dict[str, list[Listed]]:
    """Of each look, the things that may have it by the rows of any type."""
    looks: dict[str, list[Listed]] = {}
    for things, (values, _) in chain.from_iterable(rows.values()):
        for value in values:
            looks.setdefault(value, []).append(things)
    return looks


def _filled(text: str) -> str:
    """A row's part with the shared lists put in, and a comma before what is taken out."""
    for name, words in _LISTS.items():
        without = ", ".join(f"-{word}" for word in words.split(", "))
        text = text.replace(f"-{name}", without).replace(name, words)
    return text.replace(" -", ", -").replace(",,", ",").strip()


_RELATED, _LOOKING = _rows(_RELATIONS), _rows(_LOOKS)
_VALUES = _by_value(_LOOKING)


def related(relation: str) -> list[list[tuple[Listed, Listed]]]:
    """What common sense says of a relation: rows of which one has to hold, subjects with objects; of a posture and a
    preposition that have no rows together, those of both. [] for nothing.

    >>> len(related("wearing")), len(related("jumping on")), related("gizmoing")
    (1, 2, [])
    """
    relation = plain_relation(relation)
    verb, _, preposition = relation.partition(" ")
    parts = (relation,) if relation in _RELATED else (verb, plain_relation(preposition))
    return [_RELATED[part] for part in parts if part in _RELATED]


def looking(look: str, type_: str) -> list[Listed] | None:
    """The things that may look so, or the values of a type that may be asked of (look: ""); None if nothing is known."""
    if {look, type_}.isdisjoint(_LOOKING) and look not in _VALUES:
        return None
    of_type = [things for things, (values, _) in _LOOKING.get(type_, ()) if not look or "*" in values]
    return of_type + [things for things, _ in _LOOKING.get(look, ())] + _VALUES.get(look, [])
