"""Hand-made lists from which kinds.tsv (synonyms and hypernyms of everyday objects) is derived.

They contain the hypernyms, the senses of ambiguous words, and additions to WordNet.

A sense is written `lemma#n`, WordNet's n-th sense of the noun. An entry without a name is named by its first
lemma. Where WordNet and GQA use a word differently, the lists follow GQA: its "device" is electronic, its
"table" is not a desk, its "vehicle" may be a train.
"""

from __future__ import annotations

from collections.abc import Iterator

# Kind -> the senses whose hyponyms it covers. Senses after "but" are excluded with their hyponyms.
KINDS = """
person#1; man#1; woman#1; child#1; player#1; athlete#1; bird#1; fish#1; insect#1; dog#1; cat#1; horse#1
monkey#1; airplane#1; watercraft#2; boat#1; ship#1; car#1; train#1; bicycle#1; motorcycle#1; chair#1; desk#1
bed#1; couch#1; cabinet#1; shelf#1; fruit: edible_fruit#1; meat#1; seafood#1; cheese#1; bread#1
baked good: baked_goods#1; pastry#2; cookie#1; pie#1; sandwich#1; sauce#1; beverage#1; drink: beverage#1
hat#1; shirt#1; shoe#1; boot#1; jacket#1; dress#1; skirt#2; sweater#1; sock#1; jewelry#1; helmet#2
computer#1; phone: telephone#1; pan#1; bottle#1; cup#1; glass#2; plate#4; toy: plaything#1; racket#4
instrument: musical_instrument#1; musical_instrument#1; house#1; tower#1; bridge#1; door#1; window#1
fence#1; road#1; room#1; towel#1; curtain#1; clock#1; watch#1; plant#2; tree#1; bush: shrub#1
animal#1 but person#1 homo#2
vehicle#1 train#1 bus#1 motorcycle#1 but handcart#1 baby_buggy#1 skateboard#1 sled#1 missile#1
aircraft#1 but balloon#1
truck#1 but van#5
furniture#1 cupboard#1 shelf#1 drawer#1 but lamp#2
table#2 dining_table#1 but desk#1 counter#1 counter#4 altar#1 stand#4 booth#1
food#1 food#2 but beverage#1 feed#1 water#6 vitamin#1 diet#1 diet#3 coffee_break#1
vegetable#1 but french_fries#1 home_fries#1 legume#3 mashed_potato#1 sauerkraut#1
cake#3 but cookie#1 pancake#1 waffle#1 doughnut#2 cracker#1
dessert#1 cake#3 pie#1 but pancake#1 waffle#1 cracker#1 meat_pie#1 quiche#2 tamale_pie#1
fast food: french_fries#1 hamburger#1 pizza#1 hotdog#2
clothing#1 but helmet#2 mask#1 mask#4 handkerchief#1 jewelry#1 cloth_covering#1
footwear#2 but horseshoe#2
pants: trouser#1 but short_pants#1
coat#1 but jacket#1
glove#1 glove#2
device: electronic_equipment#1 electronic_device#1 computer#1 telephone#1 camera#1 camera#2
    calculator#2 charger#2 remote_control#1 loudspeaker#1 microphone#1 earphone#1 radio#2
    television_receiver#1 computer_keyboard#1
camera#1 camera#2
appliance: home_appliance#1 blender#1 mixer#4 but cooler#1 curling_iron#1 flatiron#1
utensil: kitchen_utensil#1 cutlery#2 table_knife#1 but blender#1 mixer#4 cooker#1
cooking_utensil#1 spatula#1 rolling_pin#1 whisk#1
knife#1 knife#2
tool: hand_tool#1 saw#2 power_tool#1
weapon#1 but missile#1
container: box#1 bottle#1 basket#1 jar#1 bucket#1 can#1 bin#1 canister#2 barrel#2 bag#1 ashcan#1
    pitcher#2 tub#2 backpack#1 jug#1 but pocket#1 mailbox#1 coffin#1 safe#1 air_bag#1 sleeping_bag#1
    punching_bag#1 cash_register#1
bag#1 bag#4 backpack#1 but pocket#1 sleeping_bag#1 air_bag#1 envelope#6 punching_bag#1 beanbag#1
box#1 but coffin#1 safe#1 mailbox#1 cash_register#1 chest#2
basket#1 but shopping_basket#1
bowl#1 bowl#3
ball#1 ball#6
building#1 house#1
lamp#1 lamp#2
flower#1 flower#2
"""

# The sense meant in images, where it is not the most common one in WordNet's counts.
MEANT_SENSES = """
ashcan#1; baby#1; baseball#2; bear#1; beef#2; blender#1; bracelet#2; bunny#2; burger: hamburger#1; cab#3
calculator#2; canister#2; carriage#2; catsup#1; charger#2; chick#1; chimp#1; chocolate#2; control_tower#1
corn#3; dove#1; egg#2; father#1; ferry#1; fork#1; fries#1; girl#2; goose#1; guard#1; guy#1; hamburger#1
hammer#2; handbag#1; hot_dog#2; infant#1; jean#1; jersey#3; jet#1; kid#1; kite#3; lamb#1; mother#1; mug#4
nurse#1; officer#3; olive#4; ostrich#2; ox#1; photograph#1; pig#1; pilot#1; plane#1; plane_tree#1; pony#5
printer#2; purse#1; radio#2; refrigerator#1; rock#1; saw#2; seal#9; shrub#1; soldier#1; sow#1; speaker#2
squash#2; stove#1; television#3; tie#1; toaster#2; toddler#1; trouser#1; turtle#2; tv#2; wing_chair#1
worker#1; wrench#3
"""

# Ambiguous names, and compounds that are not hyponyms of their head noun (a dog house is not a house). They
# get no hypernyms.
EXCLUDED_NAMES = """
arrow, bank, bar, base plate, bat, batter, bay, beast, bed of truck, bed pan, bell, bike, bird house
birdhouse, blade, boater, bottle cap, bow, brake shoe, bread box, bug, car bed, carousel horse, carpet bag
cart, cat tail, chest, chicken, clam, club, coach, coat tree, cone, control box, cooler, cotton ball, counter
court, crab, crane, cream, crystal ball, cup cake, date, disco ball, dog bed, dog house, dog tag, doghouse
doll house, dollhouse, drill, drum, dust pan, ear phone, egg plant, electrical box, face plate, family tree
fan, file, full house, fuse box, game, garden bed, gas cap, gas pump, gingerbread man, grass, hair ball
hat tree, head phone, hobby horse, hood, horse hair, horse shoe, hot plate, hourglass, house boat, hub cap
ice cap, iron, jam, junction box, king, knee cap, lens cap, letter, level, life boat, light box, light house
lobster, looking glass, magnifying glass, mail box, mask, mat, meat ball, mending, menu, metal plate
mirror ball, model, monitor, mouse, murphy, name plate, notebook, number plate, pan cake, pen, penalty box
pepper, pet bed, phone box, pitcher, plant bed, plate glass, play house, playhouse, plier, pot, pound
power box, power plant, press, press box, queen, ram, range, rat, rice ball, ring, river bed, rock bed, ruler
salmon, saw horse, sea horse, seed bed, shoe tree, shot, shrimp, signal box, slug, smoking compartment
snow cap, snow man, spitball, square, stained glass, stand, star, star fruit, stick, storm door, straw man
suction cup, sun glass, switch plate, tank, tea bag, ticket box, tiddler, toe jam, toilet bowl, top
train car, train of thought, tree house, truck bed, trunk, tuna, turkey, urinal cake, utility box, window box
window glass, windshield glass
"""

# Senses whose words are synonyms in images too. The first word is the canonical name.
SYNONYMS = """
couch#1, car#1, airplane#1, phone#1, television#3, refrigerator#1, rug#1, pail#1, trash_can#1, handbag#1
sneaker#1, doughnut#2, cellphone#1, child#1, baby#1, photograph#1, ax#1, bathing_suit#1, tie#1, microphone#1
violin#1, living_room#1, taxi#1, backpack#1, curtain#1, racket#4, hamburger#1, sunglasses#1, bush#1, catsup#1
clothing#1, building#1, toy#1, ladybug#1, train#1, theater#1, bunny#2, stove#1, rocking_chair#1, yogurt#1
whiskey#1, eggplant#1, apartment_building#1, policeman#1, hippopotamus#1, rhinoceros#1, chimpanzee#1
cougar#1, streetcar#1, sailboat#1, pizza#1, hot_dog#2, french_fries#1, motorcycle#1, bathroom#1
"""

# Synonyms that WordNet does not have: other spellings, and words for people.
EXTRA_SYNONYMS = """
back pack: backpack; bath tub: bathtub; bicyclist: cyclist; book shelf: bookshelf; carpet: rug
cell phone: cellphone; cop: policeman; dad: father; doggy: dog; donut: doughnut; drapes: curtain
eye glass: glasses; eye glasses: glasses; eyeglasses: glasses; fire engine: fire truck; firefighter: fireman
firetruck: fire truck; fridge: refrigerator; garbage bin: trash can; gentleman: man; gray: grey; guy: man
hair dryer: hair drier; hand bag: handbag; human: person; icebox: refrigerator; ketchup: catsup; kitty: cat
lady: woman; mobile phone: cellphone; mom: mother; motorbike: motorcycle; mum: mother
night stand: nightstand; pajama: pajamas; panda bear: panda; photo: photograph
puppy dog: puppy; pyjamas: pajamas; rubbish bin: trash can; ski board: ski; spectacles: glasses
stop light: traffic light; stoplight: traffic light; swim suit: bathing suit; swimsuit: bathing suit; tee shirt: t-shirt
television set: television; traffic signal: traffic light; trash bin: trash can; trousers: pants
tshirt: t-shirt; tv: television; tv set: television; washing machine: washer
"""

# Kinds, with names of these kinds that WordNet lacks or classifies differently. The entries are applied in
# order: a name also inherits the hypernyms that its own hypernym has at that point, from WordNet and from the
# lines above.
EXTRA_KINDS = """
person, driver: bus driver; person, worker: construction worker
person: archer, audience, bicyclist, biker, chef, clown, coach, cook, cop, couple, crowd, cyclist, driver,
    family, firefighter, fireman, gentleman, guy, judge, kid, lady, motorcyclist, neighbor, pastor,
    pedestrian, photographer, referee, sculptor, shopper, skateboarder, skater, skier, snowboarder, spectator,
    surfer, tailor, team, umpire, vendor, worker
device: cable box, computer mouse, controller, copier, dvd player, head phone, ipad, keyboard, monitor,
    printer, router, screen, stereo, tablet, wii
clothing: bathing suit, glove, jacket, jump suit, jumpsuit, leggings, outfit, overalls, pajamas, shorts, ski suit,
    snow suit, snowsuit, swim trunks, tank top, tights, trunks, uniform, wet suit, wetsuit
toy: frisbee, rubber duck, stuffed animal, stuffed bear, stuffed dog, stuffed toy, teddy bear, toy airplane,
    toy car, toy train, toy truck
animal: badger, bull, cattle, cub, dinosaur, lama, zebra
vehicle: bike, minivan, moped, scooter, train engine, trolley, van
appliance: blender, dryer, freezer, microwave, mixer, washer
food: egg, fruit, mashed potatoes, noodle, nut, salad
furniture: closet, entertainment center, nightstand, ottoman, recliner, tv stand
bird, animal: hen, ostrich, rooster; cabinet, furniture: kitchen cabinet, medicine cabinet
chair, furniture: lawn chair, office chair; child, person: baby, toddler; fast food, food: fries, hot dog
footwear: flip flop, slipper; meat, food: beef, pepperoni, roast; pants, clothing: jeans, snow pants
person, officer: police officer, policeman; person, player: batter, goalie, soccer player, tennis player
plant: cactus, grass, houseplant, ivy; shirt, clothing: dress shirt, polo shirt, t-shirt
shoe, footwear: cleat, heels; sign: road sign, stop sign, street sign, traffic sign
table, furniture: end table, side table; tree, plant: palm, pine; vegetable, food: bell pepper, corn
animal, insect: bug; baked good, food: donut; baked good, food, pastry: doughnut; bear, animal: polar bear
drink: beverage; boat, vehicle: ferry; cake, dessert, baked good, food: cupcake; camera, device: video camera
car, vehicle: suv; computer, device: laptop; cooking utensil: rolling pin; couch, furniture: loveseat
desk, furniture: computer desk; dessert: ice cream; beverage: drink; hat, clothing: cowboy hat
man, person: groom; man, person, parent: father; musical instrument: instrument; person, guard: bodyguard
phone, device: cellphone; shelf: bookshelf; towel: kitchen towel; train, vehicle: passenger train
truck, vehicle: fire truck; woman, person: bride; woman, person, parent: mother; fruit, food: plum
jacket, clothing: safety jacket; controller, device: game controller, wii controller
"""

# Hypernyms in WordNet that are unusual in everyday language or in GQA.
EXCLUDED_KINDS = """
cougar: cat; ambulance: car; baseball glove: clothing, glove; baseball mitt: glove, clothing; bench: furniture; bus: car
christmas stocking: clothing; cloisonne: cooking utensil, utensil; culture medium: food
dog biscuit: baked good, cookie, dessert, food; embryo: animal; fetus: animal; fryer: food, meat
hobbyhorse: horse; hood: clothing; jeep: truck; mimosa: beverage, drink; minibus: car; mitt: clothing
msg: food; park bench: furniture; pickle: vegetable; racer: car; rocking horse: horse; sandbox: toy
sandpit: toy; sawhorse: horse; sleeping bag: bag; van: truck; watermelon: vegetable
gauntlet: glove; hamburger: sandwich; mitt: glove; mitten: glove; muffin: bread; sweatshirt: sweater
"""


def parse_entries(text: str) -> Iterator[tuple[str, str]]:
    """Yield (name, text) for the entries of a list, each on a line or after `;`.

    Indented lines continue an entry.

    Senses without a name are named by their lemma: `dining_table#1`.
    """
    for line in text.replace("\n    ", " ").replace(";", "\n").splitlines():
        name, colon, rest = line.partition(":")
        if colon:
            yield name.strip(), rest.strip()
        elif line.strip():
            yield line.partition("#")[0].strip().replace("_", " "), line.strip()


def parse_words(text: str) -> list[str]:
    """Return the words of a list separated by commas or line ends."""
    return [word.strip() for word in text.replace("\n", ",").split(",") if word.strip()]
